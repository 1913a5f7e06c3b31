import './style/tokens.css';
import './style/page.css';
import './style/forms.css';
import './style/timeline.css';
import './style/chart.css';
import './style/tables.css';
import { App } from './ui/app.js';

new App().start();
