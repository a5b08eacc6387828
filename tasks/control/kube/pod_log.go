package kube

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"deployer/engine/sanitize"
)

// maxLogLine is the maximum length of a line of a container's log in an error, in bytes.
const maxLogLine = 300

// lastLogLine returns the last line that a container has written before it failed; empty when the
// kubelet does not have it. A container that starts again and again may have written nothing yet,
// so the log of the one before is asked for first.
func lastLogLine(ctx context.Context, c *Client, p *corev1.Pod, container string) string {
	for _, previous := range []bool{true, false} {
		query := url.Values{"container": {container}, "tailLines": {"5"}, "previous": {fmt.Sprint(previous)}}
		path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/log?%s", url.PathEscape(p.Namespace), url.PathEscape(p.Name), query.Encode())
		status, body, err := c.Raw(ctx, "GET", path, nil)
		if err != nil || status != 200 {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return sanitize.CutEnd(sanitize.Text(last), maxLogLine)
		}
	}
	return ""
}
