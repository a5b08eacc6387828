package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	registry "github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"deployer/resumable"
)

// AnyArch is the architecture of artifacts that are the same for all.
const AnyArch = "any"

// ociScheme begins the address of a chart in a registry.
const ociScheme = "oci://"

// chartLayer is the media type of the archive in the manifest of a chart
// (https://helm.sh/docs/topics/registries).
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxChartIndex is the maximum size of the index of a chart repository in bytes. The largest public
// ones have about 20 MB.
const maxChartIndex = 64 << 20

// WithCharts returns a source that has also charts of Helm: those that source holds as a bundle
// or a directory, and else those of their repositories, which the inventory names.
func WithCharts(source Source, logins Logins) Source {
	return chartSource{source, &httpSource{client: newClient(), logins: logins}}
}

type chartSource struct {
	Source
	direct *httpSource
}

// of returns the source of an artifact.
func (s chartSource) of(a Artifact, ref Ref) Source {
	if a.Kind != KindChart {
		return s.Source
	}
	switch held := s.Source.(type) {
	case *Bundle: // it has everything, or it is incomplete
		return held
	case *Directory:
		if _, ok := held.index.Find(ref); ok {
			return held
		}
	}
	return s.direct
}

// Offer implements Source.
func (s chartSource) Offer(ctx context.Context, a Artifact, ref Ref) (Offer, error) {
	return s.of(a, ref).Offer(ctx, a, ref)
}

// Open implements Source.
func (s chartSource) Open(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error) {
	return s.of(a, ref).Open(ctx, a, ref, want, offset)
}

// offerChart returns the digest of a chart's archive, as its registry or the index of its
// repository states it.
func (r *httpSource) offerChart(ctx context.Context, a Artifact, ref Ref) (Offer, error) {
	if strings.HasPrefix(a.URL, ociScheme) {
		layer, address, err := r.chartLayer(ctx, a, ref)
		if err != nil {
			return Offer{}, err
		}
		digest, err := layer.Digest()
		if err != nil {
			return Offer{}, fmt.Errorf("chart %s: %w", address, err)
		}
		return Offer{SHA256: digest.Hex, Address: address}, nil
	}
	address, digest, err := r.findChart(ctx, a, ref)
	if err != nil {
		return Offer{}, err
	}
	return Offer{SHA256: digest, Address: publicAddress(address)}, nil
}

// openChart returns the archive of a chart.
func (r *httpSource) openChart(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error) {
	if strings.HasPrefix(a.URL, ociScheme) {
		layer, address, err := r.chartLayer(ctx, a, ref)
		if err != nil {
			return resumable.Content{}, err
		}
		if digest, err := layer.Digest(); err != nil || digest.Hex != want.SHA256 {
			return resumable.Content{}, errors.Join(err, fmt.Errorf("%s offers %s: %w", address, digest, ErrMismatch))
		}
		size, err := layer.Size()
		if err != nil {
			return resumable.Content{}, fmt.Errorf("chart %s: %w", address, err)
		}
		content, err := layer.Compressed()
		if err != nil {
			return resumable.Content{}, fmt.Errorf("chart %s: %w", address, err)
		}
		return resumable.Content{ReadCloser: content, Total: size}, nil
	}
	address, _, err := r.findChart(ctx, a, ref)
	if err != nil {
		return resumable.Content{}, err
	}
	return r.getWithLogin(ctx, address, offset)
}

// chartLayer returns the archive in the manifest of a chart, and its public address.
func (r *httpSource) chartLayer(ctx context.Context, a Artifact, ref Ref) (v1.Layer, string, error) {
	repository, err := name.NewRepository(strings.TrimPrefix(a.URL, ociScheme))
	if err != nil {
		return nil, "", final{fmt.Errorf("chart %s: %w", a.URL, err)}
	}
	tag := repository.Tag(strings.ReplaceAll(ref.Version, "+", "_")) // tags have no plus sign; helm writes them so
	img, err := registry.Image(tag, registry.WithContext(ctx), registry.WithAuthFromKeychain(Keychain(r.logins)),
		registry.WithTransport(r.client.Transport), registry.WithRetryBackoff(registry.Backoff{Steps: 1}))
	if err != nil {
		return nil, "", fmt.Errorf("asking for chart %s: %w", tag, err)
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, "", fmt.Errorf("chart %s: %w", tag, err)
	}
	for _, layer := range layers {
		if kind, err := layer.MediaType(); err == nil && string(kind) == chartLayer {
			return layer, ociScheme + tag.Name(), nil
		}
	}
	return nil, "", final{fmt.Errorf("%s is no chart of Helm: its manifest has no layer of type %s", tag, chartLayer)}
}

// findChart returns the address and the digest of a chart in the index of its repository.
func (r *httpSource) findChart(ctx context.Context, a Artifact, ref Ref) (address, digest string, err error) {
	base, err := url.Parse(strings.TrimSuffix(a.URL, "/") + "/")
	if err != nil {
		return "", "", final{fmt.Errorf("chart repository: %w", err)}
	}
	index := base.JoinPath("index.yaml")
	answer, err := r.getWithLogin(ctx, index.String(), 0)
	if err != nil {
		return "", "", err
	}
	defer answer.Close()
	content, err := io.ReadAll(io.LimitReader(answer, maxChartIndex+1))
	if err != nil {
		return "", "", fmt.Errorf("reading %s: %w", publicAddress(index.String()), err)
	}
	if len(content) > maxChartIndex {
		return "", "", final{fmt.Errorf("%s has more than %d bytes", publicAddress(index.String()), maxChartIndex)}
	}
	var document struct {
		Entries map[string][]struct {
			Version string   `json:"version"`
			Digest  string   `json:"digest"`
			URLs    []string `json:"urls"`
		} `json:"entries"`
	}
	if err := yaml.Unmarshal(content, &document); err != nil {
		return "", "", final{fmt.Errorf("%s is no index of a chart repository: %w", publicAddress(index.String()), err)}
	}
	for _, entry := range document.Entries[a.Chart] {
		if strings.TrimPrefix(entry.Version, "v") != strings.TrimPrefix(ref.Version, "v") || len(entry.URLs) == 0 {
			continue
		}
		digest := strings.TrimPrefix(entry.Digest, "sha256:")
		if !isDigest(digest) {
			return "", "", final{fmt.Errorf("%s states no SHA-256 for chart %s %s: download the chart into the project, and name its file", publicAddress(index.String()), a.Chart, ref.Version)}
		}
		address, err := base.Parse(entry.URLs[0])
		if err != nil || address.Scheme != "https" && address.Scheme != "http" {
			return "", "", final{fmt.Errorf("%s: chart %s %s is at %q, which is no http or https address", publicAddress(index.String()), a.Chart, ref.Version, entry.URLs[0])}
		}
		return address.String(), digest, nil
	}
	return "", "", final{fmt.Errorf("%s has no chart %s of version %s", publicAddress(index.String()), a.Chart, ref.Version)}
}

// getWithLogin requests a URL with the credentials of the inventory for its host.
func (r *httpSource) getWithLogin(ctx context.Context, address string, offset int64) (resumable.Content, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return resumable.Content{}, final{err}
	}
	if login, ok := r.logins[request.URL.Host]; ok {
		request.SetBasicAuth(login.Username, login.Password)
	}
	return resumable.Get(r.client, request, offset)
}
