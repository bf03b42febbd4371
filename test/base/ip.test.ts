/** IP addresses as text: one plain form of each, what belongs to this machine, networks for limits and logs, lists of ranges. */

import t from 'tap';
import {
  AddressList,
  addressBytes,
  anonymized,
  isLoopback,
  originOf,
  plainAddress,
  plainNetwork,
} from '../../src/base/ip.js';

t.test('an address is written in one way', async (t) => {
  for (const [text, plain] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:C000:0207', '192.0.2.7'],
    ['2001:0DB8:0:0::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['', ''],
    ['192.0.2', ''],
    ['unknown', ''],
    ['::ffff:192.0.2.7:80', ''],
  ] as const) {
    t.equal(plainAddress(text), plain, text);
  }
  t.equal(plainAddress(undefined), '');
});

t.test('a network is written in one way', async (t) => {
  for (const [text, plain] of [
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7/32', '192.0.2.7'],
    ['192.0.2.7/24', '192.0.2.0/24'],
    ['192.0.2.255/30', '192.0.2.252/30'],
    ['192.0.2.7/0', '0.0.0.0/0'],
    ['2001:DB8:0::1/128', '2001:db8::1'],
    ['2001:db8:1:2:ffff::1/63', '2001:db8:1:2::/63'],
    ['2001:db8:1:3::/63', '2001:db8:1:2::/63'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1/0', '::/0'],
  ] as const) {
    t.equal(plainNetwork(text), plain, text);
    t.equal(plainNetwork(plain), plain, 'and stays as it is');
  }
});

t.test('an origin is an IPv4 address or an IPv6 network', async (t) => {
  const same = ['2001:db8:0:1::1', '2001:db8::1:ffff:0:0:9', '2001:db8:0:1:a:b:c:d', '2001:db8:0:1::'];
  t.strictSame([...new Set(same.map(originOf))], ['2001:db8:0:1::/64']);
  t.not(originOf('2001:db8:0:2::1'), originOf(same[0]));
  t.equal(originOf('::1'), '0:0:0:0::/64');
  t.equal(originOf('fe80::1%eth0'), 'fe80:0:0:0::/64');
  t.equal(originOf('::ffff:192.0.2.7'), '192.0.2.7');
  t.equal(originOf('192.0.2.7'), '192.0.2.7');
  t.equal(originOf(undefined), '');
});

t.test('addresses are cut to their /24 and /48', async (t) => {
  const cases = [
    ['192.0.2.77', '192.0.2.0'],
    ['::ffff:192.0.2.77', '192.0.2.0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['2001:db8:0:2:3:4:5:6', '2001:db8::'],
    ['2001:db8::1', '2001:db8::'],
    ['2001:0DB8:00ff::1', '2001:db8:ff::'],
    ['::1', '::'],
    ['::', '::'],
    ['fe80::1:2:3:4%eth0', 'fe80::'],
    ['1::2:3:4:5:6:7', '1:0:2::'],
    ['', '-'],
    ['somebody', '-'],
  ];
  for (const [address, cut] of cases) t.equal(anonymized(address!), cut, String(address));
});

t.test('this machine, however its address is written', async (t) => {
  for (const own of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '::FFFF:127.0.0.1'])
    t.ok(isLoopback(own), own);
  for (const other of ['128.0.0.1', '10.127.0.1', '::2', '::ffff:10.0.0.1', '127.example', 'localhost', '']) {
    t.notOk(isLoopback(other), other);
  }
});

t.test('the bytes of an address in any form', async (t) => {
  for (const [address, hex] of [
    ['192.0.2.7', 'c0000207'],
    ['::', '00'.repeat(16)],
    ['::ffff:192.0.2.7', `${'00'.repeat(10)}ffffc0000207`],
    ['2001:db8::1', `20010db8${'00'.repeat(11)}01`],
    ['fe80::1:2%eth0', `fe80${'00'.repeat(10)}00010002`],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
  ] as const) {
    t.equal(addressBytes(address).toString('hex'), hex, address);
  }
});

t.test('a list of addresses and networks', async (t) => {
  const list = new AddressList(['192.0.2.0/24', '198.51.100.1', '2001:db8::/32', '::1']);
  for (const on of ['192.0.2.0', '192.0.2.255', '198.51.100.1', '2001:db8:ffff::', '::1']) t.ok(list.has(on), on);
  for (const off of ['192.0.3.0', '198.51.100.2', '2001:db9::', '::2', 'somebody', '']) t.notOk(list.has(off), off);
  t.notOk(new AddressList([]).has('192.0.2.1'));
});
