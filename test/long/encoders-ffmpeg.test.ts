import { encoderStories } from '../kit/encoder-story.js';
import { ffmpegEncoder } from '../kit/ffmpeg-encoder.js';

encoderStories([ffmpegEncoder]);
