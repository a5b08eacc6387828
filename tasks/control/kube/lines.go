package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxLinesResponse is the maximum size of a response that [Client.EachLine] reads, in bytes.
// The metrics of an API server with 1000 nodes take about a tenth of this.
const maxLinesResponse = 256 << 20

// EachLine sends one GET request without retries and calls visit for each line of the
// response, until visit returns false. path begins with a slash. EachLine fails when the
// status is not 200.
func (c *Client) EachLine(ctx context.Context, path string, visit func(line string) (more bool)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "deployer")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("reading %s: the API server returned %s", path, resp.Status)
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxLinesResponse))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !visit(lines.Text()) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
