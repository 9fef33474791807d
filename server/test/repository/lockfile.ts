/** One entry of `packages` in a package-lock.json of version 3; its key is the folder it is for. */
export interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  /** A link to the folder `resolved`: a workspace. */
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  bin?: Record<string, string>;
  os?: string | string[];
  cpu?: string | string[];
  libc?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

export type LockedPackages = Record<string, LockedPackage>;

/**
 * What makes `npm ci` fail, or install less than it should, on some platform: a package that is
 * wanted and not in the lockfile, one of a version that is not wanted, one without a version or a
 * checksum, and one for a single platform that is not optional. npm writes such lockfiles when the
 * registry lacks a package at that moment, or when it starts from a node_modules of one platform
 * (github.com/npm/cli/issues/4828), and does not notice on the platform that it writes them on.
 * @param overrides versions that packages get instead of those that they want, by name
 */
export function holesOf(
  packages: LockedPackages,
  overrides: Record<string, string> = {},
): string[] {
  return Object.entries(packages).flatMap(([folder, locked]) => [
    ...missingFor(packages, folder, { ...wantedBy(locked), ...usedOf(overrides, locked) }),
    ...incomplete(folder, locked),
  ]);
}

/** The overrides of what a package wants. */
function usedOf(overrides: Record<string, string>, locked: LockedPackage) {
  const wanted = wantedBy(locked);
  return Object.fromEntries(Object.entries(overrides).filter(([name]) => name in wanted));
}

function missingFor(
  packages: LockedPackages,
  folder: string,
  wanted: Record<string, string>,
): string[] {
  return Object.entries(wanted).flatMap(([name, range]) => {
    const found = find(packages, folder, name);
    if (!found) return [`${folder || 'the root'} wants ${name} ${range}, which is missing`];
    if (found.version && accepts(range, found.version)) return [];
    const version = found.version ?? 'an entry without a version';
    return [`${folder || 'the root'} wants ${name} ${range}, not ${version}`];
  });
}

/** Optional packages are wanted too: which of them is installed depends on the platform. */
function wantedBy(locked: LockedPackage): Record<string, string> {
  const peers = Object.entries(locked.peerDependencies ?? {}).filter(
    ([name]) => !locked.peerDependenciesMeta?.[name]?.optional,
  );
  return {
    ...Object.fromEntries(peers),
    ...locked.devDependencies,
    ...locked.dependencies,
    ...locked.optionalDependencies,
  };
}

/** Looks where Node looks: in the node_modules of the folder and of each folder above it. */
function find(packages: LockedPackages, folder: string, name: string): LockedPackage | undefined {
  const found = packages[`${folder}${folder && '/'}node_modules/${name}`];
  if (found?.link) return packages[found.resolved ?? ''];
  if (found || folder === '') return found;
  return find(packages, folder.slice(0, Math.max(0, folder.lastIndexOf('/'))), name);
}

function incomplete(folder: string, locked: LockedPackage): string[] {
  const isOurs = locked.link || !folder.includes('node_modules/');
  const fromRegistry = !isOurs && !locked.resolved?.startsWith('file:');
  const forOnePlatform = locked.os || locked.cpu || locked.libc;
  return [
    ...(isOurs || locked.version ? [] : [`${folder} has no version`]),
    ...(!fromRegistry || locked.integrity ? [] : [`${folder} has no checksum`]),
    ...(!forOnePlatform || locked.optional || locked.devOptional
      ? []
      : [`${folder} is for one platform and not optional`]),
  ];
}

/**
 * Whether npm's range has the version, for the forms of range that our packages use.
 * @throws for any other form, which is then to be added here
 */
export function accepts(range: string, version: string): boolean {
  const parts = range.split('||').map((part) => part.trim().split(/\s+/));
  return parts.some((bounds) => bounds.every((bound) => acceptsPart(bound, version)));
}

function acceptsPart(range: string, version: string): boolean {
  if (range === '*' || range.startsWith('file:')) return true;
  const [, operator, lowest = ''] =
    /^(\^|~|>=|<|=|)(\d+(?:\.\d+){0,2}(?:-[\w.]+)?)$/.exec(range) ?? [];
  if (operator === undefined) throw new Error(`a range of an unknown form: ${range}`);
  const at = numbersOf(version);
  const from = numbersOf(lowest);
  if (operator === '' || operator === '=') {
    const given = lowest.split('.').length; // `1` accepts each 1.x.y
    return given < 3 ? compare(at.slice(0, given), from.slice(0, given)) === 0 : version === lowest;
  }
  if (operator === '<') return compare(at, from) < 0;
  const kept = operator === '>=' ? 0 : operator === '~' ? 2 : 1 + from.findIndex((n) => n > 0);
  return compare(at, from) >= 0 && compare(at.slice(0, kept), from.slice(0, kept)) === 0;
}

/** Major, minor and patch; what follows a hyphen is left out. */
function numbersOf(version: string): number[] {
  const numbers = version.split('-', 1).join('').split('.').map(Number);
  return [...numbers, 0, 0].slice(0, 3);
}

function compare(one: number[], other: number[]): number {
  return one.map((number, i) => number - (other[i] ?? 0)).find((gap) => gap !== 0) ?? 0;
}
