/**
 * Configurations of Icecast for tests of the import. Debian's is from its package, if that is installed. The others have the elements and values of
 * real ones in the public repositories named below, in our wording and with our passwords.
 */

/** The common start of the files. */
function icecastXml(limits: string, rest: string): string {
  return `<?xml version="1.0"?>
<icecast>
  <limits>${limits}</limits>
  <authentication>
    <source-password>old-source-word</source-password>
    <relay-password>old-relay-word</relay-password>
    <admin-user>admin</admin-user>
    <admin-password>old-admin-word</admin-password>
  </authentication>
${rest}
</icecast>
`;
}

const USUAL =
  '<clients>100</clients><sources>2</sources><queue-size>524288</queue-size><client-timeout>30</client-timeout>';

/** github.com/TKVisions/waveworldmedia, icecast.xml: little more than a mount; an invalid host name, a log with an absolute path. */
export const WAVEWORLD = icecastXml(
  USUAL,
  `<location>Railway</location>
  <hostname>0.0.0.0</hostname>
  <listen-socket><port>8000</port></listen-socket>
  <mount><mount-name>/live</mount-name></mount>
  <fileserve>1</fileserve>
  <logging><accesslog>/tmp/access.log</accesslog><loglevel>3</loglevel></logging>`,
);

/**
 * github.com/63110/icecast-server-kh-install, icecast.xml (Icecast-KH): a mount with its own password, a relay of another server on the machine,
 * an alias with `dest`.
 */
export const GRODNO = icecastXml(
  '<clients>1000</clients><header-timeout>15</header-timeout><source-timeout>10</source-timeout><burst-size>65536</burst-size>',
  `<hostname>online.radiogrodno.by</hostname>
  <listen-socket><port>8005</port></listen-socket>
  <mount>
    <mount-name>/stream</mount-name>
    <password>old-mount-word</password>
    <hidden>0</hidden><public>1</public><charset>UTF-8</charset>
    <burst-size>131072</burst-size><mp3-metadata-interval>8192</mp3-metadata-interval>
  </mount>
  <relay>
    <server>127.0.0.1</server><port>8000</port><mount>/live</mount><local-mount>/differe</local-mount>
    <relay-shoutcast-metadata>0</relay-shoutcast-metadata>
  </relay>
  <paths><logdir>/nowhere/icecast</logdir><alias source="/" dest="/status.xsl"/></paths>
  <logging><accesslog>icecast_acces.log</accesslog><loglevel>1</loglevel></logging>`,
);

/** github.com/Mars-FM/Server-Configs, icecast.xml: four mounts whose names differ only at the end, one of them without a dot. */
export const MARS = icecastXml(
  '<clients>10000</clients><burst-on-connect>1</burst-on-connect><burst-size>65535</burst-size>',
  `<hostname>stream.marsfm.ie</hostname>
  <http-headers><header name="Access-Control-Allow-Origin" value="*" /></http-headers>
  <listen-socket><port>8000</port></listen-socket>
  ${['/listen.ogg', '/listenogg', '/listen', '/listen.mp3']
    .map(
      (mount) => `<mount type="normal"><mount-name>${mount}</mount-name><max-listeners>10000</max-listeners>
    <burst-size>65536</burst-size><stream-url>https://marsfm.ie</stream-url></mount>`,
    )
    .join('\n')}
  <paths><alias source="/" destination="/status.xsl"/></paths>`,
);

/** LibreTime's handbook (github.com/libretime/libretime): three mounts, each of which falls back to the previous one. */
export const LIBRETIME = icecastXml(
  USUAL,
  `<hostname>localhost</hostname>
  <mount><mount-name>/airtime_128</mount-name></mount>
  <mount><mount-name>/live.ogg</mount-name><fallback-mount>/airtime_128</fallback-mount><fallback-override>1</fallback-override></mount>
  <mount><mount-name>/stream.ogg</mount-name><fallback-mount>/live.ogg</fallback-mount><fallback-override>1</fallback-override></mount>`,
);

/** github.com/AlvaroMolano/openshift-icecast and Rainwave's template: a relay on demand with a login, and a hook for its listeners. */
export const RELAYED = icecastXml(
  USUAL,
  `<hostname>radio.example</hostname>
  <listen-socket><port>8000</port><bind-address>127.0.0.1</bind-address><shoutcast-mount>/remotemount</shoutcast-mount></listen-socket>
  <relays-on-demand>1</relays-on-demand>
  <relay><server>up.example</server><port>8000</port><mount>/radiostation3</mount><local-mount>/remotemount</local-mount>
    <username>me</username><password>p@ss/word</password></relay>
  <mount><mount-name>/remotemount</mount-name><stream-name>Remote \${HOME} Station</stream-name>
    <authentication type="url">
      <option name="listener_add" value="http://127.0.0.1:9000/listener_add"/>
      <option name="listener_remove" value="http://127.0.0.1:9000/listener_remove"/>
      <option name="auth_header" value="icecast-auth-user: 1"/>
      <option name="username" value="user"/>
    </authentication>
  </mount>
  <mount><mount-name>/members</mount-name><authentication type="htpasswd"><option name="filename" value="myauth"/></authentication></mount>`,
);
