package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// accountCA is the path of the cluster's CA in a pod.
const accountCA = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

// Check checks one target.
func Check(ctx context.Context, t Target) Result {
	began := time.Now()
	detail, err := check(ctx, t)
	result := Result{OK: err == nil, Detail: detail, Elapsed: time.Since(began).Round(10 * time.Microsecond).String()}
	if err != nil {
		result.Detail = err.Error()
	}
	return result
}

func check(ctx context.Context, t Target) (string, error) {
	if err := t.validate(); err != nil {
		return "", err
	}
	limit, err := t.timeout()
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer stop()
	var detail string
	switch t.Kind {
	case "tcp":
		detail, err = checkTCP(ctx, t)
	case "dns":
		detail, err = checkDNS(ctx, t)
	default:
		detail, err = checkHTTP(ctx, t)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return detail, err
}

func checkTCP(ctx context.Context, t Target) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	return "connected from " + conn.LocalAddr().String(), nil
}

func checkDNS(ctx context.Context, t Target) (string, error) {
	r := &net.Resolver{PreferGo: true}
	if t.Server != "" {
		server := t.Server
		if _, _, err := net.SplitHostPort(server); err != nil {
			server = net.JoinHostPort(server, "53")
		}
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, server)
		}
	}
	network := map[string]string{"": "ip", FamilyIPv4: "ip4", FamilyIPv6: "ip6"}[t.Family]
	addresses, err := r.LookupNetIP(ctx, network, t.Name)
	if err != nil {
		return "", err
	}
	found := make([]string, 0, len(addresses))
	for _, a := range addresses {
		found = append(found, a.Unmap().String())
	}
	slices.Sort(found)
	return strings.Join(found, " "), nil
}

// checkHTTP succeeds for a status below 400. checkHTTP follows no redirect, as the target
// itself is tested.
func checkHTTP(ctx context.Context, t Target) (string, error) {
	if !strings.HasPrefix(t.Address, t.Kind+"://") {
		return "", fmt.Errorf("%q is not a URL that begins with %s://", t.Address, t.Kind)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Address, nil)
	if err != nil {
		return "", err
	}
	request.Host = t.Name
	trust, err := authorities(t.CA)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{
		DisableKeepAlives: true, // a new connection is part of the test
		TLSClientConfig:   &tls.Config{ServerName: t.Server, RootCAs: trust, MinVersion: tls.VersionTLS12},
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	detail := strings.TrimSpace(response.Status + ": " + strings.ToValidUTF8(string(body), "?"))
	if response.StatusCode >= http.StatusBadRequest {
		return "", fmt.Errorf("%s", detail)
	}
	return detail, nil
}

func authorities(pem string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if own, err := os.ReadFile(accountCA); err == nil {
		pool.AppendCertsFromPEM(own)
	}
	if pem != "" && !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, fmt.Errorf("ca has no PEM certificate")
	}
	return pool, nil
}
