package reboot

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"time"

	"deployer/keeper/access"
	"deployer/tasks/control/kube"
)

// dialTimeout is the maximum time for a connection to one address: three fit into apiTimeout.
const dialTimeout = 3 * time.Second

// connect returns a client of the API with the kubelet's certificate. It opens no connection.
func connect(api API) (*kube.Client, error) {
	server, err := url.Parse(api.Server)
	if err != nil {
		return nil, fmt.Errorf("the address of the API: %w", err)
	}
	config, err := access.ClientTLS(api.CA, func() (tls.Certificate, error) { return kubeletCertificate(api) })
	if err != nil {
		return nil, err
	}
	return kube.New(kube.Options{URL: api.Server, TLS: config, Dial: dialFirst(slices.Concat([]string{server.Host}, api.Masters))})
}

// dialFirst connects to the first of some addresses that accepts. The API proxy of a node is a pod,
// which may have ended before this host asks; then an API server answers itself.
func dialFirst(addresses []string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var failed []error
		for _, address := range addresses {
			conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
			if err == nil {
				return conn, nil
			}
			failed = append(failed, err)
			if ctx.Err() != nil {
				break
			}
		}
		return nil, errors.Join(failed...)
	}
}

// kubeletCertificate reads the certificate as the kubelet does: the renewed one, or the first one while
// there is no other.
func kubeletCertificate(api API) (tls.Certificate, error) {
	cert, key := api.Cert, api.Key
	if api.Rotated != "" {
		pair, err := tls.LoadX509KeyPair(api.Rotated, api.Rotated)
		if !errors.Is(err, fs.ErrNotExist) {
			return pair, wrap("reading the kubelet's certificate", err)
		}
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	return pair, wrap("reading the kubelet's certificate", err)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
