// The contract of drivers on the real SDK of Sprites.
import { driverContract } from '../contract/driver.js';
import { spritesWorld } from './world.js';

driverContract('Sprites', spritesWorld, {
  'leaves no checkpoint that was given up, or one that can be deleted':
    'Sprites may finish a checkpoint whose stream was closed, and its SDK cannot delete one',
  'knows which of its checkpoints are deleted': 'the SDK of Sprites cannot delete one, and hears of no deletion',
  'deletes a checkpoint': 'the SDK of Sprites cannot delete a checkpoint',
});
