import { encoderStories } from '../kit/encoder-story.js';
import { ices2 } from '../kit/ices2.js';
import { oggfwds } from '../kit/oggfwd.js';

encoderStories([ices2, ...oggfwds]);
