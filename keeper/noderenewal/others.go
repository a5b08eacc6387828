package noderenewal

import (
	"context"
	"encoding/json"
	"time"

	"deployer/keeper/certificates"
)

// Annotation is the annotation of a Node with the certificates that the node does not renew, as JSON of [Others]:
// the keeper says when a person has to. A node without such certificates has none.
const Annotation = "deployer/certificates-by-hand"

// Others are certificates of a node that nobody renews without a run of deployer.
type Others struct {
	Names   []string  `json:"names"`
	Expires time.Time `json:"expires"` // the first of them
}

// tell keeps the annotation of the Node as it has to be.
func (r *Renewal) tell(ctx context.Context, found []certificates.Finding) error {
	want := ""
	if others := r.others(found); len(others.Names) > 0 {
		text, err := json.Marshal(others)
		if err != nil {
			return err
		}
		want = string(text)
	}
	now, err := r.api.annotation(ctx, r.Node, Annotation)
	if err != nil || now == want {
		return err
	}
	return r.api.annotate(ctx, r.Node, Annotation, want)
}

// others returns the certificates that no signer of Kubernetes signs, in the order of the configuration. One that
// cannot be read has no time.
func (r *Renewal) others(found []certificates.Finding) (out Others) {
	expires := map[string]time.Time{}
	for _, f := range found {
		expires[f.Name] = f.Expires
	}
	for _, w := range r.Certificates {
		if _, _, signs := signerOf(w); signs {
			continue
		}
		out.Names = append(out.Names, w.Name)
		if at := expires[w.Name]; !at.IsZero() && (out.Expires.IsZero() || at.Before(out.Expires)) {
			out.Expires = at
		}
	}
	return out
}
