import { encoderStories } from '../kit/encoder-story.js';
import { mpds } from '../kit/mpd.js';

encoderStories(mpds);
