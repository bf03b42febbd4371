import { encoderStories } from '../kit/encoder-story.js';
import { ezstream } from '../kit/ezstream.js';

encoderStories([ezstream]);
