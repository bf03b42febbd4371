import { encoderStories } from '../kit/encoder-story.js';
import { ezstream } from '../kit/ezstream.js';
import { gstreamers } from '../kit/gstreamer.js';

encoderStories([ezstream, ...gstreamers]);
