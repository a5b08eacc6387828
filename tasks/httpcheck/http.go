// Package httpcheck sends HTTP requests from the host and compares the responses with
// expectations.
package httpcheck

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// HTTP is a request with the expected response. Paths are paths of the host.
type HTTP struct {
	URL        string `yaml:"url" rule:"url" required:"true" doc:"http or https URL"`
	CA         string `yaml:"ca" rule:"path" doc:"path of a file with the CA certificates to trust; default those of the host"`
	Cert       string `yaml:"cert" rule:"path" doc:"path of a client certificate; default none"`
	Key        string `yaml:"key" rule:"path" doc:"path of the client certificate's key"`
	ServerName string `yaml:"server_name" rule:"host" doc:"name that the server's certificate must have; default the host of the URL"`
	Insecure   bool   `yaml:"insecure" doc:"accept any server certificate, for servers on localhost with self-signed certificates. Default false"`
	Status     int    `yaml:"status" range:"100..599" doc:"expected status; default any from 200 to 299"`
	Body       string `yaml:"body" rule:"regexp" doc:"regular expression that the body must match; default none"`

	Method        string            `yaml:"method" rule:"token" doc:"HTTP method; default GET"`
	Headers       map[string]string `yaml:"headers" rule:"line" keys:"token" doc:"headers to send, as in Authorization or Host; default none"`
	AnswerHeaders map[string]string `yaml:"answer_headers" rule:"regexp" keys:"token" doc:"header -> regular expression that it must match; default none"`
}

// tryTimeout is the maximum duration of one request: a server on the host or beside it
// answers its health endpoint within a second.
const tryTimeout = 5 * time.Second

// maxBody is the maximum number of bytes read of a response.
const maxBody = 64 << 10

// maxShown is the maximum number of bytes of a response that an error shows.
const maxShown = 200

// Do sends the request once; nil when the response is as expected. detail describes the
// response for messages.
func (h HTTP) Do(ctx context.Context, sys engine.System) (detail string, err error) {
	client, err := h.client(sys)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeoutCause(ctx, tryTimeout, fmt.Errorf("no answer from %s within %s", h.URL, tryTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, cmp.Or(h.Method, http.MethodGet), h.URL, nil)
	if err != nil {
		return "", err
	}
	for name, value := range h.Headers {
		req.Header.Set(name, value)
		if strings.EqualFold(name, "Host") {
			req.Host = value
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", cmp.Or(context.Cause(ctx), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return "", fmt.Errorf("reading the answer of %s: %w", h.URL, err)
	}
	return resp.Status, h.evaluate(resp, body)
}

func (h HTTP) evaluate(resp *http.Response, body []byte) error {
	ok := resp.StatusCode == h.Status || h.Status == 0 && resp.StatusCode >= 200 && resp.StatusCode <= 299
	if !ok {
		return fmt.Errorf("%s answered %s: %s", h.URL, resp.Status, sanitize.FirstLine(string(body), maxShown))
	}
	for _, name := range slices.Sorted(maps.Keys(h.AnswerHeaders)) {
		if err := match("answer_headers", h.AnswerHeaders[name], resp.Header.Get(name), h.URL+" answered "+name+" "); err != nil {
			return err
		}
	}
	if h.Body == "" {
		return nil
	}
	return match("body", h.Body, string(body), h.URL+" answered ")
}

// match requires that a text matches the regular expression of an argument.
func match(argument, expression, text, said string) error {
	want, err := regexp.Compile(expression)
	if err != nil {
		return fmt.Errorf("%s: %w", argument, err)
	}
	if !want.MatchString(text) {
		return fmt.Errorf("%s%q, want a match of %q", said, sanitize.FirstLine(text, maxShown), expression)
	}
	return nil
}

func (h HTTP) client(sys engine.System) (*http.Client, error) {
	config := &tls.Config{ServerName: h.ServerName, InsecureSkipVerify: h.Insecure} //nolint:gosec // set by the user, see its doc
	if h.CA != "" {
		pem, err := os.ReadFile(sys.Path(h.CA))
		if err != nil {
			return nil, fmt.Errorf("reading the CA certificates: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", h.CA)
		}
	}
	if h.Cert != "" {
		pair, err := tls.LoadX509KeyPair(sys.Path(h.Cert), sys.Path(h.Key))
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: false, DisableKeepAlives: true,
		Proxy:       nil, // a proxy would answer in place of the host
		DialContext: (&net.Dialer{Timeout: tryTimeout}).DialContext,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

// PermanentError is an error that further attempts would repeat.
type PermanentError struct{ Err error }

// Error returns the text of Err.
func (f *PermanentError) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *PermanentError) Unwrap() error { return f.Err }

// Poll calls try every interval until it succeeds, returns a *PermanentError, or the
// timeout passes. Poll returns the error of the last attempt. waiting, when not nil, is
// called with each new reason.
func Poll(ctx context.Context, timeout, interval time.Duration, waiting func(string), try func(context.Context) error) error {
	deadline := time.Now().Add(timeout)
	said := ""
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return errors.Join(cause, err)
		}
		if final, ok := errors.AsType[*PermanentError](err); ok {
			return final.Err
		}
		if !time.Now().Before(deadline) {
			return err
		}
		if waiting != nil && err.Error() != said {
			said = err.Error()
			waiting(said)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
