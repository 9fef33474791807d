/** What goes wrong with a request. */
export interface S3Fault {
  kind: /** The response comes a second late. */
    | 'slow'
    /** No response comes, and the connection stays open. */
    | 'hang'
    /** 503 SlowDown. */
    | 'slow_down'
    /** The connection is reset in the middle of the body of the request or of the response. */
    | 'cut'
    /** The request is done, then the connection is reset before the response. */
    | 'lost_response'
    /** A byte of the body is changed on its way. */
    | 'altered'
    /** 400 ExpiredToken. */
    | 'expired'
    /** 404 NoSuchBucket. */
    | 'no_bucket'
    /** 403 AccessDenied. */
    | 'denied';
  /** GET, HEAD, PUT or DELETE; any of them when it is left out. */
  method?: string;
  /** How many requests it applies to; 1 by default. */
  times?: number;
}

/** The faults that are planned, the oldest first. */
export function createS3Faults() {
  const planned: Array<S3Fault & { times: number }> = [];
  return {
    plan: (fault: S3Fault) => void planned.push({ times: 1, ...fault }),
    /** The faults that no request met yet. */
    pending: () => planned,
    clear: () => void planned.splice(0),
    /** The oldest fault for a request with this method. */
    take(method: string) {
      const fault = planned.find((one) => one.method === undefined || one.method === method);
      if (!fault) return undefined;
      fault.times -= 1;
      if (fault.times <= 0) planned.splice(planned.indexOf(fault), 1);
      return fault;
    },
  };
}
