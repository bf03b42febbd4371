import { butt, buttOpus } from '../kit/butt.js';
import { encoderStories } from '../kit/encoder-story.js';

encoderStories([butt, buttOpus]);
