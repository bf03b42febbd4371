import { encoderStories } from '../kit/encoder-story.js';
import { mpds } from '../kit/mpd.js';
import { vlcs } from '../kit/vlc.js';

encoderStories([...mpds, ...vlcs]);
