package prober

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// request returns the attempt that requests the Service over a new connection, as curl
// does.
func request(target Target, client Client) func(context.Context) error {
	transport := &http.Transport{DialContext: client.Dial, DisableKeepAlives: true}
	return func(ctx context.Context) error {
		_, err := roundTrip(ctx, transport, http.MethodGet, target.Service, "")
		return err
	}
}

// resolve returns the attempt that resolves the name with the cluster's DNS.
func resolve(target Target, client Client) func(context.Context) error {
	return func(ctx context.Context) error {
		var down error // the resolver's error has only the text of this one
		resolver := &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := client.Dial(ctx, network, target.DNS)
			if errors.Is(err, ErrClientDown) {
				down = err
			}
			return conn, err
		}}
		found, err := resolver.LookupNetIP(ctx, "ip4", target.Name)
		switch {
		case down != nil:
			return down
		case err == nil && len(found) == 0:
			return fmt.Errorf("%s has no address", target.Name)
		}
		return err
	}
}
