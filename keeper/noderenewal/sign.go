package noderenewal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"deployer/tasks/poll"
)

const (
	// signTimeout is the maximum wait for all signatures. The keeper looks for requests once a minute.
	signTimeout = 10 * time.Minute
	// signPoll is the time between two looks at a request.
	signPoll = 3 * time.Second
)

// sign sends requests and returns the certificates that were issued, by the names of the requests. A request that
// an earlier call has made is found again. It fails, with those that were issued, when one is refused or has no
// answer in time.
func (r *Renewal) sign(ctx context.Context, requests []signingRequest) (map[string][]byte, error) {
	out := map[string][]byte{}
	made := map[string]bool{}
	refused := map[string]error{}
	wait := cmp.Or(r.wait, signTimeout)
	err := poll.Until(ctx, wait, min(signPoll, wait/10), func(ctx context.Context) (string, bool, error) {
		var waits []string
		for _, request := range requests {
			name := request.Metadata.Name
			if out[name] != nil || refused[name] != nil {
				continue
			}
			cert, why, err := r.ask(ctx, request, made[name])
			if err != nil {
				if poll.IsLater(err) {
					waits = append(waits, err.Error())
				} else {
					refused[name] = err
				}
				continue
			}
			if !made[name] {
				made[name] = true
				r.Say("asked for a certificate by CertificateSigningRequest " + name)
			}
			if cert == nil {
				waits = append(waits, name+": "+why)
				continue
			}
			out[name] = cert
		}
		return strings.Join(waits, "; "), len(waits) == 0, nil
	})
	for _, request := range requests {
		err = errors.Join(err, refused[request.Metadata.Name])
	}
	if err != nil {
		return out, fmt.Errorf("waiting for certificates: %w", err)
	}
	return out, nil
}

// ask returns the certificate of a request; nil while there is none, with what is waited for. A request that was
// not made yet is made. An error that a later attempt may not have is marked by [poll.Later].
func (r *Renewal) ask(ctx context.Context, ours signingRequest, made bool) (cert []byte, waits string, err error) {
	var now signingRequest
	if made {
		now, err = r.api.request(ctx, ours.Metadata.Name)
	} else {
		now, err = r.api.create(ctx, ours)
		if refusal, ok := errors.AsType[*apiError](err); ok && refusal.Code == http.StatusConflict {
			now, err = r.api.request(ctx, ours.Metadata.Name)
		}
	}
	if err != nil {
		err = fmt.Errorf("CertificateSigningRequest %s: %w", ours.Metadata.Name, err)
		if refusal, ok := errors.AsType[*apiError](err); ok && refusal.final() {
			return nil, "", err
		}
		return nil, "", poll.Later(err)
	}
	if err := now.isOf(r.Node, ours); err != nil {
		return nil, "", err
	}
	return now.outcome()
}
