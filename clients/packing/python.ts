import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Files, tarGz, zip } from './archive.ts';

interface Project {
  name: string;
  version: string;
  description: string;
  license: string;
  'requires-python': string;
  dependencies: string[];
  keywords: string[];
  classifiers: string[];
}

/** The Python client's wheel and source distribution, by file name. */
export function packPython(folder: string): Files {
  const read = (name: string) => readFileSync(path.join(folder, name));
  const project = readProject(String(read('pyproject.toml')));
  const metadata = Buffer.from(metadataOf(project, String(read('README.md'))));
  const license = read('LICENSE');
  const filesOf = (name: string) => filesBelow(folder, name);
  const head = `${project.name}-${project.version}`;
  const modules = filesOf('src').map((name) => [name.replace('src/', ''), read(name)]);
  const wheel = withRecord(`${head}.dist-info`, {
    ...Object.fromEntries(modules),
    [`${head}.dist-info/METADATA`]: metadata,
    [`${head}.dist-info/WHEEL`]: Buffer.from(WHEEL),
    [`${head}.dist-info/licenses/LICENSE`]: license,
  });
  const sources = [
    'pyproject.toml',
    'README.md',
    'LICENSE',
    ...filesOf('src'),
    ...filesOf('examples'),
  ];
  const sdist = sources.map((name) => [`${head}/${name}`, read(name)]);
  return {
    [`${head}-py3-none-any.whl`]: zip(wheel),
    [`${head}.tar.gz`]: tarGz({ ...Object.fromEntries(sdist), [`${head}/PKG-INFO`]: metadata }),
  };
}

/** The package's files, without Python's caches. */
function filesBelow(folder: string, name: string): string[] {
  return readdirSync(path.join(folder, name), { recursive: true, encoding: 'utf8' })
    .map((file) => `${name}/${file.replaceAll(path.sep, '/')}`)
    .filter((file) => /\.py$|\/py\.typed$/.test(file))
    .sort();
}

/** [project] has only strings and lists of strings, which parse as JSON. */
function readProject(toml: string): Project {
  const [, table = ''] = toml.split(/^\[project\]$/m);
  const [own = ''] = table.split(/^\[/m);
  const values = [...own.matchAll(/^([\w-]+) = (".*"|\[[^\]]*\])$/gm)];
  const entries = values.map(([, key, value = '']) => [
    key,
    JSON.parse(value.replace(/,\s*\]$/, ']')),
  ]);
  return Object.fromEntries(entries);
}

function metadataOf(project: Project, readme: string): string {
  return [
    'Metadata-Version: 2.4',
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    'License-File: LICENSE',
    `Keywords: ${project.keywords.join(',')}`,
    ...project.classifiers.map((one) => `Classifier: ${one}`),
    `Requires-Python: ${project['requires-python']}`,
    ...project.dependencies.map((one) => `Requires-Dist: ${one}`),
    'Description-Content-Type: text/markdown',
    '',
    readme,
  ].join('\n');
}

const WHEEL =
  'Wheel-Version: 1.0\nGenerator: framewright\nRoot-Is-Purelib: true\nTag: py3-none-any\n';

/** Adds the list of files and digests that pip checks. */
function withRecord(folder: string, files: Files): Files {
  const name = `${folder}/RECORD`;
  const rows = Object.entries(files).map(([file, bytes]) => {
    const digest = createHash('sha256').update(bytes).digest('base64url');
    return `${file},sha256=${digest},${bytes.length}\n`;
  });
  return { ...files, [name]: Buffer.from(`${rows.join('')}${name},,\n`) };
}
