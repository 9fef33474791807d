import './styles/site.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { keepFocus } from './focus.ts';

keepFocus();
const place = document.getElementById('app');
if (place) render(<App />, place);
