//go:build lab

package networks

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"deployer/test/harness"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// client writes through the virtual address every 50 ms, each time over a new connection, and asks
// for an answer that needs no etcd.
type client struct {
	config *tls.Config
	dial   func(ctx context.Context, network, address string) (net.Conn, error)

	mu              sync.Mutex
	answers, writes []time.Time // times of success
	errors          map[string]int
	end             chan struct{}
	done            sync.WaitGroup
}

// startClient starts a client with the kubeconfig for clients outside, and returns when it has written.
func startClient(v *virtual) *client {
	v.T.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(v.Must("kubeconfig").Stdout))
	if err != nil {
		v.T.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		v.T.Fatal(err)
	}
	c := &client{config: tlsConfig, dial: v.Dial, errors: map[string]int{}, end: make(chan struct{})}
	v.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf -n default create configmap virtual-ip --dry-run=client -o yaml | kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - >/dev/null")
	c.done.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-c.end:
				return
			case <-tick.C:
			}
			c.done.Go(func() {
				body := fmt.Sprintf(`{"data":{"n":"%d"}}`, i)
				c.try(&c.writes, http.MethodPatch, config.Host+"/api/v1/namespaces/default/configmaps/virtual-ip", body)
			})
			c.done.Go(func() { c.try(&c.answers, http.MethodGet, config.Host+"/version", "") })
		}
	})
	v.Eventually(20*time.Second, "the client writes", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.writes) < 10 || len(c.answers) < 10 {
			return fmt.Errorf("%d writes and %d answers, errors %v", len(c.writes), len(c.answers), c.errors)
		}
		c.writes, c.answers = c.writes[len(c.writes)-1:], c.answers[len(c.answers)-1:]
		return nil
	})
	return c
}

// try sends one request and records the time of its success.
func (c *client) try(to *[]time.Time, method, url, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: c.config.Clone(), DialContext: c.dial, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err == nil {
		if body != "" {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		var resp *http.Response
		if resp, err = (&http.Client{Transport: transport}).Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %s", resp.Status)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errors[err.Error()]++
		return
	}
	*to = append(*to, time.Now())
}

// stop ends the client and returns the longest times without an answer and without a write.
func (c *client) stop() (answers, writes time.Duration) {
	close(c.end)
	stopped := time.Now()
	c.done.Wait()
	return longestGap(c.answers, stopped), longestGap(c.writes, stopped)
}

// longestGap returns the longest time between two successes, and from the last one to the end.
func longestGap(times []time.Time, end time.Time) time.Duration {
	slices.SortFunc(times, time.Time.Compare)
	gap := max(0, end.Sub(times[len(times)-1]))
	for i := 1; i < len(times); i++ {
		gap = max(gap, times[i].Sub(times[i-1]))
	}
	return gap
}

// holderWatch looks every 50 ms which hosts have the virtual address.
type holderWatch struct {
	site     *harness.Site
	hosts    []string
	end      chan struct{}
	once     sync.Once
	done     sync.WaitGroup
	mu       sync.Mutex    // guards the fields below
	two      time.Duration // for which two hosts had the address
	overlaps string
}

func watchHolders(s *harness.Site, hosts []string) *holderWatch {
	w := &holderWatch{site: s, hosts: hosts, end: make(chan struct{})}
	s.T.Cleanup(func() { w.stop() })
	w.done.Go(func() {
		const every = 50 * time.Millisecond
		for last := time.Now(); ; {
			select {
			case <-w.end:
				return
			case <-time.After(every):
			}
			var found []string
			for _, h := range w.hosts {
				if hasVirtual(s, h) {
					found = append(found, h)
				}
			}
			now := time.Now()
			// The first of two may have lost the address while the second was looked at.
			if len(found) > 1 && hasVirtual(s, found[0]) {
				w.mu.Lock()
				w.two += now.Sub(last)
				w.overlaps += fmt.Sprintf("%s %v; ", now.Format("15:04:05.000"), found)
				w.mu.Unlock()
			}
			last = now
		}
	})
	return w
}

// stop ends the watch.
func (w *holderWatch) stop() {
	w.once.Do(func() { close(w.end) })
	w.done.Wait()
}

// overlap returns the time for which two hosts had the address so far, and when.
func (w *holderWatch) overlap() (time.Duration, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.two, w.overlaps
}

// hasVirtual reports whether a host has the virtual address: only then may a program listen on it.
func hasVirtual(s *harness.Site, host string) bool {
	l, err := netns.Listen(plan.HostResource(s.Name, host), net.JoinHostPort(virtualAddress, "0"))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
