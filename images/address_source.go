package images

import (
	"context"
	"deployer/resumable"
	"fmt"
	"net/url"
)

// FromAddress returns the content at an http or https URL whose hex SHA-256 is
// digest: from the store, or from the network, resumed after an interrupted attempt.
// Proxies come from the environment. Concurrent calls share one download.
func (s *Store) FromAddress(ctx context.Context, address, digest string) (Blob, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Blob{}, fmt.Errorf("%q is not an http or https address", publicAddress(address))
	}
	if !isDigest(digest) {
		return Blob{}, fmt.Errorf("%q is not a SHA-256 in lower-case hex", digest)
	}
	r := &Resolver{Store: s, Source: addressSource{&httpSource{client: newClient()}, address}}
	return r.content(ctx, Artifact{Kind: KindFile}, Ref{}, Offer{SHA256: digest, Address: publicAddress(address)},
		func(Phase, int64, int64) {})
}

// addressSource is a source of one file.
type addressSource struct {
	*httpSource
	address string
}

// Open implements Source.
func (a addressSource) Open(ctx context.Context, _ Artifact, _ Ref, _ Offer, offset int64) (resumable.Content, error) {
	return a.get(ctx, a.address, offset)
}
