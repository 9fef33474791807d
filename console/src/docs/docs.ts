import '../styles/site.css';
import '../styles/docs.css';
import { closeContentsOnPhone, openFromAddress } from './contents.ts';
import { addCopyButtons } from './copy.ts';
import { addSearch } from './search.ts';
import { makeTabs } from './tabs.ts';
import { offerTestKey } from './test-key.ts';

// What the pages of the documentation do where scripts run. Without it all text is there to read.
makeTabs();
offerTestKey();
addCopyButtons();
closeContentsOnPhone();
openFromAddress();
addSearch();
