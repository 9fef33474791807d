import { useEffect, useState } from 'preact/hooks';
import type { Prices, Quote } from '../../../../server/src/site/playground/prices.ts';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { type Form, mediaOf } from './form-model.ts';

const PAUSE_MS = 150;

export interface LiveQuote {
  quote?: Quote;
  error?: ApiFailure;
  /** The form has changed since. */
  isOld: boolean;
}

/**
 * The price of the form as it is, from the service.
 * @param balance changes when the account has more or fewer credits
 */
export function useQuote(form: Form, prices: Prices, balance: number): LiveQuote {
  const [shown, setShown] = useState<{ of?: string; quote?: Quote; error?: ApiFailure }>({});
  const videos = new Map(mediaOf(form, prices)).get('reference_video_urls') ?? [];
  const { model, resolution, duration } = form;
  const seconds = videos.map((video) => video.seconds);
  const body = { model, resolution, duration, reference_video_durations: seconds };
  const text = JSON.stringify(body);
  const mode = useMode();
  const [returns, setReturns] = useState(0);
  useEffect(() => {
    const onOnline = () => setReturns((count) => count + 1);
    addEventListener('online', onOnline);
    return () => removeEventListener('online', onOnline);
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const given = { query: { mode }, body: JSON.parse(text), signal: stop.signal };
      const next = await api('POST /console/api/price', given).then(
        (quote) => ({ of: text, quote }),
        (error) => ({ of: text, error: asFailure(error) }),
      );
      if (!stop.signal.aborted) setShown(next);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, mode, balance, returns]);
  const { of, ...last } = shown;
  return { ...last, isOld: of !== text };
}
