package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"deployer/engine/sanitize"
	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// queryTimeout bounds a query of Prometheus.
const queryTimeout = 10 * time.Second

// facts answers the questions of decisions during one pass. It reads each answer once, when it is asked for.
type facts struct {
	ctx     context.Context //nolint:containedctx // of one pass
	client  *kube.Client
	http    *http.Client
	leases  map[profile.LeaseKey]answer[*profile.Lease]
	pods    map[string]answer[bool]
	queries map[[2]string]answer[float64]
}

type answer[T any] struct {
	value T
	err   error
}

func newFacts(ctx context.Context, c *kube.Client, client *http.Client) *facts {
	if client == nil {
		client = http.DefaultClient
	}
	return &facts{ctx: ctx, client: c, http: client, leases: map[profile.LeaseKey]answer[*profile.Lease]{},
		pods: map[string]answer[bool]{}, queries: map[[2]string]answer[float64]{}}
}

// once returns the answer to a question, and reads it the first time.
func once[K comparable, T any](known map[K]answer[T], key K, read func() (T, error)) (T, error) {
	a, ok := known[key]
	if !ok {
		a.value, a.err = read()
		known[key] = a
	}
	return a.value, a.err
}

// Lease implements profile.Facts.
func (f *facts) Lease(key profile.LeaseKey) (profile.Lease, bool, error) {
	lease, err := once(f.leases, key, func() (*profile.Lease, error) {
		lease, ok, err := leases.Read(f.ctx, f.client, key)
		if err != nil || !ok {
			return nil, err
		}
		return &lease, nil
	})
	if err != nil || lease == nil {
		return profile.Lease{}, false, err
	}
	return *lease, true, nil
}

// forgetLease makes the next question about a lease read it again.
func (f *facts) forgetLease(key profile.LeaseKey) { delete(f.leases, key) }

// PrefersOperational implements profile.Facts.
func (f *facts) PrefersOperational(node string) (bool, error) {
	return once(f.pods, node, func() (bool, error) {
		pods, err := kube.ListAs[corev1.Pod](f.ctx, f.client, kube.PodKind(), "", v1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
		if err != nil {
			return false, fmt.Errorf("listing the pods of node %s: %w", node, err)
		}
		for i := range pods {
			if profile.PrefersOperational(&pods[i]) {
				return true, nil
			}
		}
		return false, nil
	})
}

// Query implements profile.Facts.
func (f *facts) Query(prometheus, query string) (float64, error) {
	return once(f.queries, [2]string{prometheus, query}, func() (float64, error) {
		value, err := f.query(prometheus, query)
		if err != nil {
			return 0, fmt.Errorf("querying Prometheus: %w", err)
		}
		return value, nil
	})
}

// maxAnswer is the number of bytes read of an answer; one value has about 200.
const maxAnswer = 1 << 20

// query sends an instant query (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries).
func (f *facts) query(prometheus, query string) (float64, error) {
	ctx, cancel := context.WithTimeoutCause(f.ctx, queryTimeout, fmt.Errorf("no answer within %s", queryTimeout))
	defer cancel()
	to := strings.TrimSuffix(prometheus, "/") + "/api/v1/query?" + url.Values{"query": {query}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return 0, err
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	var answer struct {
		Status string
		Error  string
		Data   struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("the server answered %s, without JSON", resp.Status)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("the server answered %s: %s", resp.Status, sanitize.FirstLine(answer.Error, 200))
	}
	if answer.Data.ResultType != "vector" {
		return 0, fmt.Errorf("the result is a %s, not a vector", answer.Data.ResultType)
	}
	return single(answer.Data.Result)
}

// single returns the value of a vector with one element.
func single(result json.RawMessage) (float64, error) {
	var vector []struct{ Value []any }
	if err := json.Unmarshal(result, &vector); err != nil {
		return 0, fmt.Errorf("reading the vector: %w", err)
	}
	if len(vector) != 1 {
		return 0, fmt.Errorf("the result has %d values, want exactly 1", len(vector))
	}
	if len(vector[0].Value) != 2 {
		return 0, errors.New("the result is no instant vector")
	}
	text, _ := vector[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}
