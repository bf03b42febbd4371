import { encoderStories } from '../kit/encoder-story.js';
import { oggfwd } from '../kit/oggfwd.js';

encoderStories([oggfwd]);
