package images

import (
	"context"
	"deployer/resumable"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"time"
)

// headerTimeout bounds the wait for the header of a response.
const headerTimeout = 30 * time.Second

// maxSums is the maximum size of a checksum file in bytes.
const maxSums = 1 << 20

// httpSource is a source over HTTP: the publishers themselves, or a mirror.
type httpSource struct {
	client *http.Client
	// mirror is the base address; nil for upstream.
	mirror *url.URL
	// logins are the credentials of the inventory.
	logins Logins
}

// NewUpstream returns the source of the publishers' own servers, by the URLs of the
// catalogue. Proxies come from the environment (HTTPS_PROXY, NO_PROXY), credentials for
// images from [Keychain] with the logins.
func NewUpstream(logins Logins) Source { return &httpSource{client: newClient(), logins: logins} }

// NewMirror returns the source of a server with the publishers' layout below base,
// the publisher's host as first path element: dl.k8s.io/release/... for files,
// registry.k8s.io/kube-proxy for images. Credentials for files may be part of the
// URL, else they are those of logins for its host; those for images come from [Keychain]
// with the logins.
func NewMirror(base string, logins Logins) (Source, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("artifact mirror %q is not an http or https address", base)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("artifact mirror %q: an address without ? and # is needed", u.Redacted())
	}
	return &httpSource{client: newClient(), mirror: u, logins: logins}, nil
}

func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTimeout
	return &http.Client{Transport: transport}
}

func (r *httpSource) String() string {
	if r.mirror == nil {
		return "upstream"
	}
	return "mirror " + publicAddress(r.mirror.String())
}

func (r *httpSource) Versions() map[string]string { return nil }

func (r *httpSource) Offer(ctx context.Context, a Artifact, ref Ref) (Offer, error) {
	if a.Kind == KindImage {
		return r.offerImage(ctx, a, ref)
	}
	if a.Kind == KindChart {
		return r.offerChart(ctx, a, ref)
	}
	sumsAddress, address := r.locate(a.SumsAddress(ref)), r.locate(a.Address(ref))
	if len(a.Digests) > 0 {
		digest, ok := a.Digests[ref.Version]
		if !ok {
			return Offer{}, final{fmt.Errorf("%s: its publisher states no digest, and the catalogue has none for this version: take the version of the catalogue, or a directory or bundle as source", ref)}
		}
		return Offer{SHA256: digest, Address: publicAddress(address)}, nil
	}
	answer, err := r.get(ctx, sumsAddress, 0)
	if err != nil {
		return Offer{}, err
	}
	defer answer.Close()
	content, err := io.ReadAll(io.LimitReader(answer, maxSums))
	if err != nil {
		return Offer{}, fmt.Errorf("reading %s: %w", publicAddress(sumsAddress), err)
	}
	digest, err := parseSums(content, path.Base(a.Address(ref)))
	if err != nil {
		return Offer{}, final{fmt.Errorf("%s: %w", publicAddress(sumsAddress), err)}
	}
	return Offer{SHA256: digest, Address: publicAddress(address)}, nil
}

func (r *httpSource) Open(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error) {
	if a.Kind == KindImage {
		return r.openImage(ctx, a, ref, want)
	}
	if a.Kind == KindChart {
		return r.openChart(ctx, a, ref, want, offset)
	}
	return r.get(ctx, r.locate(a.Address(ref)), offset)
}

// get requests a URL from offset on; see resumable.Get.
func (r *httpSource) get(ctx context.Context, address string, offset int64) (resumable.Content, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return resumable.Content{}, err
	}
	if login, ok := r.logins[request.URL.Host]; ok && r.mirror != nil && request.URL.User == nil {
		request.SetBasicAuth(login.Username, login.Password)
	}
	return resumable.Get(r.client, request, offset)
}

// locate converts a publisher's URL into the one to request.
func (r *httpSource) locate(address string) string {
	if r.mirror == nil {
		return address
	}
	return r.mirror.JoinPath(mirrorPath(address)).String()
}

// publicAddress returns the URL without user and password.
func publicAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return resumable.PublicAddress(u)
}
