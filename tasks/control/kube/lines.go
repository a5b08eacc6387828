package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxLines bounds an answer of [Client.EachLine], in bytes. The metrics of an API server
// of 1000 nodes are about a tenth of it.
const maxLines = 256 << 20

// EachLine calls visit for each line of the answer to a GET request without retries,
// until visit returns false. path begins with a slash.
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
		return fmt.Errorf("reading %s: the API server answers %s", path, resp.Status)
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxLines))
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
