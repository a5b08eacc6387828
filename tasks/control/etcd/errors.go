package etcd

import (
	"errors"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// plain strips gRPC's wrapping, so that the message of etcd, the network or TLS remains.
// errors.Is still finds etcd's sentinels.
func plain(err error) error {
	if err == nil {
		return nil
	}
	err = rpctypes.Error(err)
	var known rpctypes.EtcdError
	if errors.As(err, &known) {
		return known
	}
	if s, ok := status.FromError(err); ok {
		return &grpcError{text: cause(s.Message()), err: err}
	}
	return err
}

type grpcError struct {
	text string
	err  error
}

func (e *grpcError) Error() string { return e.text }
func (e *grpcError) Unwrap() error { return e.err }

// cause strips the text and the quotes that gRPC puts around the cause of a failed
// connection.
func cause(message string) string {
	if _, quoted, found := strings.Cut(message, "connection error: desc = "); found {
		if text, err := strconv.Unquote(quoted); err == nil {
			message = text
		}
	}
	message = strings.TrimPrefix(message, "transport: ")
	message = strings.TrimPrefix(message, "Error while dialing: ")
	return strings.TrimPrefix(message, "authentication handshake failed: ")
}

// transient reports whether a later attempt may get another answer of etcd.
func transient(err error) bool {
	for _, known := range []error{
		rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrNotLeader, rpctypes.ErrTimeout,
		rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrUnhealthy,
		rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrTooManyLearners, rpctypes.ErrStopped,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	code := status.Code(errors.Unwrap(err))
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// catchingUp reports that a learner lags too far behind the leader to vote.
func catchingUp(err error) bool { return errors.Is(err, rpctypes.ErrMemberLearnerNotReady) }
