import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The part of V8's profiles (`--cpu-prof`) that is used. Times in microseconds. */
interface CpuProfile {
  /** By the clock that all processes of the machine share. */
  startTime: number;
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

/** A thread's time, as shares of its busy time. */
interface ThreadProfile {
  thread: 'main' | 'writer' | 'other';
  /** Busy seconds within the recorded time. */
  busySeconds: number;
  seconds: number;
  /** The longest uninterrupted pieces of work, in milliseconds. */
  longestMs: number[];
  rooms: [name: string, share: number][];
  /** Functions with the most self time; native code counts for its caller. */
  functions: [name: string, share: number][];
}

const LONGEST = 5;
const FUNCTIONS = 15;
/** A shorter gap between two samples is not a pause. */
const PAUSE_US = 300;

/** A span by the clock that all processes share, in milliseconds (setting.ts, `sharedNow`). */
export interface Span {
  from: number;
  to: number;
}

/** The work of a server's threads within `span`, from all profiles in `folder`. */
function readProfiles(folder: string, span: Span): ThreadProfile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => summarise(JSON.parse(readFileSync(join(folder, name), 'utf8')), span))
    .filter(({ seconds }) => seconds > 0)
    .sort((a, b) => a.thread.localeCompare(b.thread));
}

function summarise({ nodes, samples, timeDeltas, startTime }: CpuProfile, span: Span): ThreadProfile {
  const places = placesOf(nodes);
  const rooms = new Map<string, number>();
  const functions = new Map<string, number>();
  const pieces: number[] = [];
  let [busy, all, piece, at] = [0, 0, 0, startTime];
  for (const [i, id] of samples.entries()) {
    const us = Math.max(0, timeDeltas[i + 1] ?? 0);
    at += timeDeltas[i] ?? 0;
    if (at < span.from * 1_000 || at > span.to * 1_000) continue;
    const place = places.get(id);
    all += us;
    if (place === undefined || place.room === '(idle)') {
      if (us < PAUSE_US) continue;
      pieces.push(piece);
      piece = 0;
      continue;
    }
    busy += us;
    piece += us;
    rooms.set(place.room, (rooms.get(place.room) ?? 0) + us);
    functions.set(place.name, (functions.get(place.name) ?? 0) + us);
  }
  const shares = (times: Map<string, number>): [string, number][] =>
    [...times].sort((a, b) => b[1] - a[1]).map(([name, us]) => [name, us / busy]);
  return {
    thread: threadOf(nodes),
    busySeconds: busy / 1e6,
    seconds: all / 1e6,
    longestMs: [...pieces, piece]
      .sort((a, b) => b - a)
      .slice(0, LONGEST)
      .map((us) => us / 1_000),
    rooms: shares(rooms),
    functions: shares(functions).slice(0, FUNCTIONS),
  };
}

function threadOf(nodes: CpuProfile['nodes']): ThreadProfile['thread'] {
  const runs = (file: string) => nodes.some(({ callFrame }) => callFrame.url.endsWith(file));
  if (runs('/src/main.ts')) return 'main';
  return runs('/store/sqlite/writer.ts') ? 'writer' : 'other';
}

/** The room and the name of each node; a function without a file (native code) counts for its caller's file. */
function placesOf(nodes: CpuProfile['nodes']): Map<number, { room: string; name: string }> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, { room: string; name: string }>();
  const [root] = nodes;
  const left = root === undefined ? [] : [{ node: root, callerFile: '' }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { functionName, url } = next.node.callFrame;
    const file = url === '' ? next.callerFile : url;
    const own = functionName.startsWith('(') && url === '';
    const room = own ? functionName : roomOf(file);
    places.set(next.node.id, { room, name: own ? functionName : `${functionName || '(unnamed)'} ${room}` });
    for (const child of next.node.children ?? []) {
      const node = byId.get(child);
      if (node !== undefined) left.push({ node, callerFile: file });
    }
  }
  return places;
}

/** The folder of a source file, at most three levels below `src`, or the name of a package. */
function roomOf(file: string): string {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  if (name !== undefined) return name;
  const [, path] = /\/(src\/.*)$/.exec(file) ?? [];
  if (path === undefined) return file.startsWith('node:') ? 'node' : '(other)';
  const folders = path.split('/').slice(0, -1);
  return folders.slice(0, 4).join('/');
}

/** Prints where the server's threads spent their time within `span`. */
export function printProfiles(folder: string, span: Span): void {
  const percent = (share: number) => `${(share * 100).toFixed(1).padStart(5)} %`;
  for (const { thread, busySeconds, seconds, longestMs, rooms, functions } of readProfiles(folder, span)) {
    const longest = longestMs.map((ms) => ms.toFixed(0)).join(', ');
    console.log(
      `${thread} thread: busy for ${busySeconds.toFixed(1)} of ${seconds.toFixed(1)} s, longest pieces ${longest} ms`,
    );
    for (const [name, share] of rooms.filter(([, part]) => part >= 0.005))
      console.log(`  ${percent(share)}  ${name}`);
    console.log('  by function:');
    for (const [name, share] of functions) console.log(`  ${percent(share)}  ${name}`);
  }
}
