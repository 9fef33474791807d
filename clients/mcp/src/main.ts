#!/usr/bin/env node
import { Framewright } from './index.ts';

process.stderr.write(`${Framewright.name}\n`);
