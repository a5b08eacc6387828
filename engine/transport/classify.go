package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Classify returns an *Error for the error of a dial or a handshake. Classify decides by
// the type of err and never by its text; fallback is the kind when the type decides
// nothing. An *Error is returned unchanged.
func Classify(host string, stage Stage, err error, fallback Kind) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Host: host, Stage: stage, Kind: kindOf(err, fallback), Err: err}
}

func kindOf(err error, fallback Kind) Kind {
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTDOWN):
		return Unreachable
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return Lost
	}
	return fallback
}
