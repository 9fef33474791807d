import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** How a name is answered. A name without one does not exist (NXDOMAIN). */
export type Answer =
  | { a?: string[]; aaaa?: string[]; cname?: string }
  /** Queries of these types, or of all types, get no response. */
  | { silent: Array<'A' | 'AAAA'> | 'all'; a?: string[] }
  | { failure: 'servfail' | 'refused' };

const TYPES: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' };
const RCODES = { none: 0, servfail: 2, nxdomain: 3, refused: 5 };
const CNAME = 5;

/**
 * Starts a DNS server over UDP, which stands in for the servers of the internet.
 * @param answerTo called with each name, in lower case
 * @param at where it listens; a free port of 127.0.0.1 when not given
 */
export async function startDnsServer(
  answerTo: (name: string) => Answer | undefined,
  at: { address: string; port: number } = { address: '127.0.0.1', port: 0 },
) {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (query, from) => {
    const { name, type } = readQuestion(query);
    queries.push(`${TYPES[type] ?? type} ${name}`);
    respond(socket, from, { query, name, type, answer: answerTo(name) });
  });
  socket.bind(at.port, at.address);
  await once(socket, 'listening');
  return {
    /** `address:port`, as in OUTBOUND_DNS. */
    address: `${at.address}:${socket.address().port}`,
    /** Every query so far, such as `A media.test`. */
    queries,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

/** Reads the first question after the 12 bytes of the header (RFC 1035, 4.1). */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

interface Question {
  query: Buffer;
  name: string;
  type: number;
  answer: Answer | undefined;
}

function respond(socket: Socket, from: RemoteInfo, question: Question): void {
  if (isSilent(question)) return;
  const { rcode, records } = responseTo(question);
  socket.send(message(question.query, rcode, records), from.port, from.address);
}

function isSilent({ type, answer }: Question): boolean {
  if (!answer || !('silent' in answer)) return false;
  const name = TYPES[type];
  return answer.silent === 'all' || (name !== undefined && answer.silent.includes(name));
}

function responseTo({ name, type, answer }: Question): { rcode: number; records: Buffer[] } {
  if (answer === undefined) return { rcode: RCODES.nxdomain, records: [] };
  if ('failure' in answer) return { rcode: RCODES[answer.failure], records: [] };
  const owner = 'cname' in answer ? answer.cname : undefined;
  const alias = owner === undefined ? [] : [record(name, CNAME, encodeName(owner))];
  const ipv6 = 'aaaa' in answer ? answer.aaaa : undefined;
  const texts = { A: answer.a, AAAA: ipv6 }[TYPES[type] ?? 'A'] ?? [];
  const addresses = texts.map((text) =>
    record(owner ?? name, type, text.includes(':') ? ipv6Bytes(text) : ipv4Bytes(text)),
  );
  return { rcode: RCODES.none, records: [...alias, ...addresses] };
}

function message(query: Buffer, rcode: number, records: Buffer[]): Buffer {
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | rcode, 2); // a response, recursion desired and available
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, readQuestion(query).end), ...records]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fields = Buffer.alloc(10); // type, class, time to live (0), length
  fields.writeUInt16BE(type, 0);
  fields.writeUInt16BE(1, 2);
  fields.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fields, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function ipv4Bytes(text: string): Buffer {
  return Buffer.from(text.split('.').map(Number));
}

/** @param text with one `::` at most, and no embedded IPv4 address */
function ipv6Bytes(text: string): Buffer {
  const [head = '', tail = ''] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const gap = Array(8 - groups(head).length - groups(tail).length).fill('0');
  const all = text.includes('::') ? [...groups(head), ...gap, ...groups(tail)] : groups(text);
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
