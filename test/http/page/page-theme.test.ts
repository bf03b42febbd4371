import fc from 'fast-check';
import t from 'tap';
import { contrast, themeCss, themeOf } from '../../../src/http/page/page-theme.js';

t.test('every accent can be read, on light and on dark, and so can what is written on it', async (t) => {
  const hex = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);
  fc.assert(
    fc.property(hex, (accent) => {
      const { light, dark } = themeOf(accent);
      for (const ground of ['#ffffff', '#f3f4f2'])
        t.ok(contrast(light.colour, ground) >= 4.5, `${accent} on ${ground}`);
      for (const ground of ['#1b1f22', '#121517']) t.ok(contrast(dark.colour, ground) >= 4.5, `${accent} on ${ground}`);
      for (const { colour, ink } of [light, dark]) t.ok(contrast(colour, ink) >= 4.5, `${ink} on ${colour}`);
    }),
  );
});

t.test('one that can be read stays as it is', async (t) => {
  t.strictSame(themeOf('#176b61').light, { colour: '#176b61', ink: '#ffffff' });
  t.strictSame(themeOf('#6fd0c0').dark.colour, '#6fd0c0');
  t.equal(contrast('#000000', '#ffffff'), 21);
  t.match(themeCss('#176b61'), /^:root, :host \{ --airsplice-accent: #176b61;/);
});
