import t from 'tap';
import { dataBlock, html, linkTarget } from '../../../src/http/page/markup-template.js';

t.test('what is not HTML by the template is text', async (t) => {
  const text = `<b a="1" b='2'>&amp;`;
  const escaped = '&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;';
  t.equal(String(html`<p title="${text}">${text}</p>`), `<p title="${escaped}">${escaped}</p>`);
  t.equal(String(html`${html`<i>${'<'}</i>`}${[html`<b></b>`, '>', 3]}${null}${false}`), '<i>&lt;</i><b></b>&gt;3');
});

t.test('data: no text ends it', async (t) => {
  const value = { text: '</script><!--\u2028\u2029&' };
  const block = String(dataBlock('x', value));
  const inside = /^<script type="application\/json" id="x">([^<>&\u2028\u2029]*)<\/script>$/.exec(block)?.[1];
  t.same(JSON.parse(inside!), value);
});

t.test('links lead to the web, or write a mail', async (t) => {
  for (const url of ['https://a.example/', 'HTTP://a.example', 'mailto:a@b.example']) t.equal(linkTarget(url), url);
  for (const url of ['javascript:alert(1)', 'data:text/html,x', '//a.example', ' https://a.example', ''])
    t.equal(linkTarget(url), '');
});
