-- An account is a customer; what a provider limits is a quota.
alter table provider_turns rename column account to quota;
