package apiaccess

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
)

// Node is how a node reaches the API as its kubelet does.
type Node struct {
	Server  string   `yaml:"server" required:"true" doc:"URL."`
	Masters []string `yaml:"masters" doc:"Addresses and ports of the API servers, for when nothing listens at the address of the URL. Default: none."`
	CA      string   `yaml:"ca" required:"true" doc:"File with the authority of the server."`
	Cert    string   `yaml:"cert" required:"true" doc:"File with the kubelet's certificate."`
	Key     string   `yaml:"key" required:"true" doc:"File with the kubelet's key."`
	Rotated string   `yaml:"rotated" doc:"File with certificate and key that the kubelet has renewed, preferred when it exists."`
}

// dialTimeout is the maximum time for a connection to one address.
const dialTimeout = 3 * time.Second

// Connection returns the settings of connections with the kubelet's certificate, and what opens them. It opens none.
func (n Node) Connection() (*tls.Config, func(ctx context.Context, network, address string) (net.Conn, error), error) {
	server, err := url.Parse(n.Server)
	if err != nil {
		return nil, nil, fmt.Errorf("the address of the API: %w", err)
	}
	config, err := ClientTLS(n.CA, n.kubeletCertificate)
	return config, dialFirst(slices.Concat([]string{server.Host}, n.Masters)), err
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
func (n Node) kubeletCertificate() (tls.Certificate, error) {
	if n.Rotated != "" {
		pair, err := tls.LoadX509KeyPair(n.Rotated, n.Rotated)
		if !errors.Is(err, fs.ErrNotExist) {
			return pair, unreadable(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(n.Cert, n.Key)
	return pair, unreadable(err)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the kubelet's certificate: %w", err)
}
