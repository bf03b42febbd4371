import { resolve } from 'node:path';
import t from 'tap';
import { readCommand } from '../../../src/processes/reload/configuration.js';

t.test('the demo that runs without a configuration keeps its data where it is started', async (t) => {
  const before = process.env['DATA'];
  t.teardown(() => {
    if (before === undefined) delete process.env['DATA'];
    else process.env['DATA'] = before;
  });
  delete process.env['DATA'];
  t.equal(readCommand([]).config.data.folder, resolve('data'));
  process.env['DATA'] = 'elsewhere';
  t.equal(readCommand([]).config.data.folder, resolve('elsewhere'));
  t.equal(readCommand(['config/demo.yaml']).config.data.folder, resolve('config/elsewhere'), 'a file that is named');
});
