package alibaba

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alibabacloud-go/tea/dara"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// An apiError is what the API answered. Its code decides what to do, not the HTTP
// status, which differs between the products.
type apiError struct {
	action, code, message string
	status                int
	wait                  time.Duration
}

// Error implements error.
func (e *apiError) Error() string {
	text := e.action + ": "
	if e.code != "" {
		text += e.code
	} else {
		text += fmt.Sprintf("HTTP status %d", e.status)
	}
	if e.message != "" && !e.denied() { // what is said of a refused signature is long, and quotes the request
		text += ": " + strings.TrimRight(e.message, ". ")
	}
	return text
}

func (e *apiError) throttled() bool {
	return e.code == "Throttling" || strings.HasPrefix(e.code, "Throttling.") || e.code == "System.Busy" || e.status == http.StatusTooManyRequests
}

func (e *apiError) denied() bool {
	for _, prefix := range []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "IncompleteSignature", "InvalidSecurityToken", "Forbidden", "NoPermission", "MissingSecurityToken", "InvalidTimeStamp", "SignatureNonceUsed", "UnauthorizedOperation", "EntityNotExist.Role"} {
		if e.code == prefix || strings.HasPrefix(e.code, prefix+".") {
			return true
		}
	}
	return e.code == "" && (e.status == http.StatusUnauthorized || e.status == http.StatusForbidden)
}

// noZone says that the zone isn't there or isn't the account's.
func (e *apiError) noZone() bool {
	switch e.code {
	case "IncorrectDomainUser", "InvalidDomainName.NoExist", "Zone.NotExists", "Zone.Invalid.Id", "Zone.Invalid.UserId", "ZoneVpc.NotExists.VpcId":
		return true
	}
	return false
}

// taken says that an object with the same content is there, or in pvtz, which has
// one code for both, another that can't stand beside it.
func (e *apiError) taken() bool {
	return e.code == "DomainRecordDuplicate" || e.code == "Record.Invalid.Conflict"
}

// gone says that the object of that ID isn't there, or isn't the account's.
func (e *apiError) gone() bool {
	return e.code == "DomainRecordNotBelongToUser" || e.code == "InvalidRR.NoExist" || strings.HasPrefix(e.code, "Record") && strings.Contains(e.code, "NotExist")
}

// unsure says that the call may have been carried out all the same.
func (e *apiError) unsure() bool {
	return e.status >= http.StatusInternalServerError || e.code == "InternalError" || e.code == "ServiceUnavailable"
}

// explain turns an error of Alibaba's client into one of ours, without secrets.
func explain(action string, err error, keys secrets) error {
	var answer interface {
		error
		GetCode() *string
		GetStatusCode() *int
		GetData() map[string]any
	}
	if errors.As(err, &answer) {
		message, ok := answer.GetData()["Message"].(string)
		if !ok {
			message = ""
		}
		return &apiError{action: action, code: keys.scrub(dara.StringValue(answer.GetCode())), message: keys.scrub(message), status: dara.IntValue(answer.GetStatusCode())}
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err // the URL holds the whole call
	}
	return errors.New(action + ": " + keys.scrub(err.Error()))
}

// listing gives an error of a call that reads its class.
func listing(err error) error { return classify(err, false) }

// writing gives an error of a call that writes its class.
func writing(err error) error { return classify(err, true) }

func classify(err error, write bool) error {
	if e := (*mirror.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	e := (*apiError)(nil)
	class := mirror.Failed
	wait := time.Duration(0)
	switch known := errors.As(err, &e); {
	case !known && write:
		class = mirror.Unknown // the connection broke before the reply
	case !known:
	case e.throttled():
		class, wait = mirror.Throttled, e.wait
	case e.denied():
		class = mirror.Denied
	case e.noZone(), e.code == "LastOperationNotFinished":
	case !write:
	case e.taken(), e.gone():
		class = mirror.Conflict
	case e.unsure():
		class = mirror.Unknown
	default:
		class = mirror.BadChange
	}
	return &mirror.Error{Class: class, RetryAfter: wait, Err: err}
}
