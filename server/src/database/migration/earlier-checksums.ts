/**
 * Checksums of texts that a migration had earlier on the main branch, where it may have run. A
 * database that records one of them is accepted: 0076 and 0077 bring its schema to that of the
 * present texts. A name without a file is of a migration that is part of another one now. A test
 * compares this list with the history of the repository, and upgrades from each text.
 */
export const EARLIER_CHECKSUMS: Readonly<Record<string, readonly string[]>> = {
  '0005_tasks.sql': ['1330fb840479de6423b3b4494109ae4e49076f99c74e8458863828bd091a9435'],
  '0008_evidence.sql': [
    '42ff8bdfe016784febc838c23d2e9da3caf25f0576fd35b8ad2d1ac176a8c40d',
    '015292c872b23a884c250328ca501f3a1fdcd1281f459ad2ca1f1fe3d334c4cf',
  ],
  '0009_reservations.sql': [
    'a414cb369560eef0c84977d5f68838ce2f865b4793ebe4cbffc3601f6fb290ee',
    'd3d3f325381bdc5184ca5d0ff73b7ef9720574921599d29f579a2bb12e4bcd91',
  ],
  '0010_attempt_outcomes.sql': [
    '10f1b51a978a8cc5095763615bc07ffa2d66d314beb6f837e837e9c028c993d2',
    '71aa086e7641212213032405250aaa8d2dfabe54a898ffaf5a59335dd961974f',
  ],
  '0014_due_and_deletion.sql': ['eafb97c38b2392d5b7349183a96e61c4dbda09a010856a3856f170cfa2e712a4'],
  '0015_indexes_by_pool.sql': ['c35616eab668c5cd46d24c2f078cd2b617aceb17dee56f1ed20077cc282dbafb'],
  '0021_operator_actions.sql': ['2e084a1da46733d92ccf5a3caa7c6582d5a918af07692b6c7c31d1b8502cc20e'],
  '0022_operator_indexes.sql': ['7d1574c887e030477b680e925633b290f25c9429a314df0a7fa4c08f9672ff2f'],
  '0022_operator_reach.sql': ['ef2f273833aa3dae4e027e316f50fe3b002bfee926c3a7f6ce8a9399b942cc44'],
  '0026_assumed_absence.sql': ['a470a7e4bf598bd5896ec8f9ad5e72b346c9f0fee7c6704fd4afb4fe98d100a2'],
  '0044_billing.sql': ['3ef9a3b15304a687dd0a290fc715bc8aee53a25d4e632d0b89cbcd7e8ef56a8c'],
  // It failed where 0063 had run on the earlier 0044; elsewhere both texts do the same.
  '0076_earlier_texts.sql': ['20f2e3d7807ff26e8243463884bddc4f1a08d1a61e641e7d177f07e18be6883e'],
};
