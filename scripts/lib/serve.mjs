// Serves a folder of static files on this machine, and nowhere else.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What each answer says: no guessing of types, no page around ours, nothing kept that may be built anew. */
const HEADERS = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
};

/** @param {string} root @param {string} path what was asked for, under the server's own path @returns {string | undefined} the file */
function fileFor(root, path) {
  let wanted;
  try {
    wanted = normalize(decodeURIComponent(path));
  } catch {
    return undefined;
  }
  if (wanted.includes('\0')) return undefined;
  const file = join(root, wanted.endsWith(sep) ? join(wanted, 'index.html') : wanted);
  if (!file.startsWith(root + sep)) return undefined;
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? file : undefined;
}

/**
 * @param {string} root the folder
 * @param {object} [options]
 * @param {number} [options.port] 0: any that is free
 * @param {string} [options.under] the path that the folder has, with a slash at both ends
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export function serve(root, { port = 0, under = '/' } = {}) {
  const server = createServer(({ method, url = '/' }, response) => {
    const path = url.split(/[?#]/, 1)[0] ?? '/';
    const file = path.startsWith(under) ? fileFor(root, path.slice(under.length - 1)) : undefined;
    if ((method !== 'GET' && method !== 'HEAD') || file === undefined) {
      response.writeHead(file === undefined ? 404 : 405, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' });
      response.end(file === undefined ? 'There is no such file.\n' : 'Only GET and HEAD.\n');
      return;
    }
    response.writeHead(200, { ...HEADERS, 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    if (method === 'HEAD') response.end();
    else
      createReadStream(file)
        .on('error', () => response.destroy())
        .pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      const at = typeof address === 'object' && address !== null ? address.port : port;
      resolve({
        url: `http://127.0.0.1:${at}${under}`,
        close: () =>
          new Promise((done) => {
            server.close(() => done());
            server.closeAllConnections();
          }),
      });
    });
  });
}
