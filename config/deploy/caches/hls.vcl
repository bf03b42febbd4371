# Varnish as a cache in front of the HLS of airsplice (Debian: varnish), under a name of its own:
#   varnishd -a :80 -f /etc/varnish/hls.vcl -s malloc,1g
# Whatever the crowd, airsplice is asked for each segment once, and for each playlist once a second. In airsplice:
#   addresses:
#     - { host: 127.0.0.1, port: 8000, roles: [stream] }
#   proxies: { trusted: [127.0.0.1] }
vcl 4.1;

import std;

backend airsplice {
  .host = "127.0.0.1";
  .port = "8000";
  # A channel's first playlist comes after segmentSeconds and 2 s at the latest.
  .first_byte_timeout = 15s;
  .probe = {
    .url = "/healthz";
    .interval = 2s;
    .timeout = 2s;
    .window = 3;
    .threshold = 2;
    .initial = 2;
  }
}

sub vcl_recv {
  if (req.url !~ "\.m3u8(\?|$)" && req.url !~ "/hls/[^/?]+(\?|$)") {
    return (synth(404));
  }
  if (req.method != "GET" && req.method != "HEAD") {
    return (pass);
  }
  # The admission of a listener, its own playlist, and what leads to /hls.m3u8: that is airsplice's, each time.
  if (req.url ~ "/hls\.m3u8\?." || (req.url ~ "/hls\.m3u8$" && req.http.Authorization) || req.url ~ "/hls/live\.m3u8\?(.*&)?s=" ||
      (req.url ~ "\.m3u8(\?|$)" && req.url !~ "/hls(/live|/rewind)?\.m3u8(\?|$)")) {
    return (pass);
  }
  # All else is the same for all, whatever they send with it.
  set req.url = regsub(req.url, "\?.*$", "");
  unset req.http.Cookie;
  unset req.http.Authorization;
  # An old playlist while the new one is on its way; and longer while airsplice restarts.
  if (std.healthy(req.backend_hint)) {
    set req.grace = 1s;
  }
  return (hash);
}

sub vcl_hash {
  # Without the Host, which any client can make up.
  hash_data(req.url);
  return (lookup);
}

sub vcl_backend_response {
  set beresp.grace = 60s;
  if (bereq.url ~ "\.m3u8(\?|$)") {
    set beresp.do_gzip = true;
  }
}

sub vcl_deliver {
  if (obj.hits > 0) {
    set resp.http.X-Cache = "HIT";
  } else {
    set resp.http.X-Cache = "MISS";
  }
}
