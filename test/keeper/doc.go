// Package keeper has scenarios of the keeper on real hosts; they need the build tag lab.
package keeper
