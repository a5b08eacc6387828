package hook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// maxAnswer is the number of bytes read of an answer: enough for a reason.
const maxAnswer = 64 << 10

// maxShown is the maximum number of bytes of an answer that an error shows.
const maxShown = 200

// Request is an HTTP request of a hook.
type Request struct {
	URL     string            `yaml:"url" rule:"url" required:"true" doc:"http or https URL. Redirects are not followed."`
	Method  string            `yaml:"method" rule:"token" doc:"HTTP method. Default POST."`
	Headers map[string]string `yaml:"headers" rule:"line" keys:"token" doc:"Headers to send; default none. Values that must stay secret come from an encrypted file of variables, or from secret_headers."`
	Secrets map[string]Source `yaml:"secret_headers" keys:"token" doc:"Headers whose values are read on the controller when the request is sent, and are in no output; default none."`
	Body    string            `yaml:"body" rule:"text" doc:"Body of the request; default empty."`
	Status  []int             `yaml:"status" range:"100..599" doc:"Expected status codes; default any from 200 to 299."`
	CA      string            `yaml:"ca" rule:"line" doc:"File of the controller with the CA certificates to trust; default the CA certificates of the controller."`
}

// Source is the source of the value of a header.
type Source struct {
	File string `yaml:"file" rule:"line" doc:"File of the controller with the value; white space around it is removed."`
	Env  string `yaml:"env" rule:"environment" doc:"Variable of deployer's environment with the value."`
}

func (r *Request) method() string { return cmp.Or(r.Method, http.MethodPost) }

func (r *Request) validate() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("http: %q is no http or https URL", r.URL)
	}
	if u.User != nil {
		return errors.New("http: the URL has a password, which output would show: send it as a header")
	}
	for name, source := range r.Secrets {
		if (source.File == "") == (source.Env == "") {
			return fmt.Errorf("http: secret_headers: %s: want file or env", name)
		}
		if _, twice := r.Headers[name]; twice {
			return fmt.Errorf("http: the header %s is in headers and secret_headers: leave one out", name)
		}
	}
	return nil
}

// send sends the request and compares the status of the answer. The values of secret
// headers are in no error.
func (r *Request) send(ctx context.Context) (engine.Output, error) {
	secrets, err := r.secretHeaders()
	if err != nil {
		return nil, err
	}
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	status, err := r.exchange(ctx, client, secrets)
	if err != nil {
		return nil, errors.New(hide(err.Error(), secrets)) //nolint:err113 // an answer may repeat what was sent
	}
	return engine.Output{"status": status}, nil
}

func (r *Request) exchange(ctx context.Context, client *http.Client, secrets map[string]string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, r.method(), r.URL, strings.NewReader(r.Body))
	if err != nil {
		return 0, fmt.Errorf("http: %w", err)
	}
	for _, headers := range []map[string]string{r.Headers, secrets} {
		for name, value := range headers {
			req.Header.Set(name, value)
			if strings.EqualFold(name, "Host") {
				req.Host = value
			}
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", r.method(), r.URL, cmp.Or(context.Cause(ctx), cause(err)))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, fmt.Errorf("%s %s: reading the answer: %w", r.method(), r.URL, cmp.Or(context.Cause(ctx), err))
	}
	if code := resp.StatusCode; !slices.Contains(r.Status, code) && (len(r.Status) > 0 || code < 200 || code > 299) {
		return 0, fmt.Errorf("%s %s: answered %s: %s", r.method(), r.URL, resp.Status, sanitize.FirstLine(string(body), maxShown))
	}
	return resp.StatusCode, nil
}

// secretHeaders reads the values of secret headers.
func (r *Request) secretHeaders() (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
		source := r.Secrets[name]
		value := os.Getenv(source.Env)
		if source.File != "" {
			content, err := os.ReadFile(source.File)
			if err != nil {
				return nil, fmt.Errorf("http: secret_headers: %s: %w", name, err)
			}
			value = string(content)
		}
		if value = strings.TrimSpace(value); value == "" {
			return nil, fmt.Errorf("http: secret_headers: %s: %s is empty", name, cmp.Or(source.File, "$"+source.Env))
		}
		out[name] = value
	}
	return out, nil
}

func (r *Request) client() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if r.CA != "" {
		pem, err := os.ReadFile(r.CA)
		if err != nil {
			return nil, fmt.Errorf("http: reading the CA certificates: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("http: %s holds no certificate", r.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	// A redirect would send secret headers and the body elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}, nil
}

// cause returns the error inside of a *url.Error, which repeats method and URL.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// hide replaces secrets in a text.
func hide(text string, secrets map[string]string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, engine.SecretMark)
		if _, token, found := strings.Cut(secret, " "); found && len(token) > 3 { // Bearer TOKEN
			text = strings.ReplaceAll(text, token, engine.SecretMark)
		}
	}
	return text
}
