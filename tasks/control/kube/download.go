package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// downloadTimeout is the maximum time of one download. A log of 128 MiB takes seconds over a fast
// connection.
const downloadTimeout = 2 * time.Minute

// Download sends one GET request without retries, writes at most limit bytes of the body into w, and
// returns the status. A longer body of a success is an error.
func (c *Client) Download(ctx context.Context, path string, w io.Writer, limit int64) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("User-Agent", "deployer")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(w, io.LimitReader(resp.Body, limit+1))
	if err == nil && n > limit && resp.StatusCode == http.StatusOK {
		err = fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return resp.StatusCode, err
}
