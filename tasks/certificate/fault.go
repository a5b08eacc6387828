package certificate

import "fmt"

// The states of a certificate in the output of cert_check.
const (
	stateOK         = "ok"
	stateExpired    = "expired"
	stateExpiring   = "expiring"   // has less than its minimum remaining lifetime
	stateMissing    = "missing"    // does not exist
	stateDamaged    = "damaged"    // cannot be read, or does not belong to its key
	stateAuthority  = "authority"  // another authority has signed it
	stateNames      = "names"      // subject, names, addresses or usages are not the wanted ones
	stateNotYet     = "not yet"    // is valid only from a later time on
	stateAccess     = "access"     // wrong owner or mode
	stateOutdated   = "outdated"   // was issued before the time that the task names
	stateUnreadable = "unreadable" // the host refused to read it
)

// fault is the reason why a certificate is not as wanted; the zero value says that it is.
type fault struct {
	state  string // one of the states above
	reason string // a sentence about the certificate, as in "it expired on 2027-01-01"
}

func faultf(state, format string, args ...any) fault {
	return fault{state, fmt.Sprintf(format, args...)}
}

func (f fault) none() bool { return f.state == "" }
