#!/usr/bin/env node
import { Framewright } from '@framewright/client';

process.stdout.write(`${Framewright.name}\n`);
