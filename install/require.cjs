// Loaded before the program by npm start, npm test and npm run demo. If packages are missing, says
// in one line what to do. Plain JavaScript: an old Node must be able to run it.
const { createRequire } = require('node:module');
const path = require('node:path');

const OLDEST = 24; // as "engines" in package.json

/** The problem; undefined if the programs can run. */
function findProblem() {
  try {
    // A package of a workspace: pnpm and yarn may install those of the root only.
    createRequire(path.join(__dirname, '../server/package.json')).resolve('pg');
  } catch {
    return 'the packages are not installed here: run npm ci (pnpm and yarn are not supported)';
  }
  if (Number(process.version.slice(1).split('.', 1)) >= OLDEST) return undefined;
  return (
    `Node ${OLDEST} or newer is needed, and this is ${process.version}: run npm ci, which brings one ` +
    '(without NODE_ENV=production, --omit=dev and --omit=optional)'
  );
}

const problem = findProblem();
if (problem !== undefined) {
  process.stderr.write(`framewright: ${problem}\n`);
  process.exit(1);
}
