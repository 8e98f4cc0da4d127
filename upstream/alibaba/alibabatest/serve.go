package alibabatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A failure is an error of the API.
type failure struct {
	status  int
	code    string
	message string
}

func refuse(code, format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// An action is one call: the parameters that it takes, those that it must have,
// and what it does. The lock is held.
type action struct {
	version    string
	takes      string
	needs      string
	write      bool
	carriesOut func(c *Cloud, q map[string]string, fault Fault) (any, *failure)
}

func actions() map[string]action {
	const public, private = "2015-01-09", "2018-01-01"
	return map[string]action{
		"DescribeDomains":       {public, "PageNumber PageSize", "", false, describeDomains},
		"DescribeDomainInfo":    {public, "DomainName", "DomainName", false, describeDomainInfo},
		"DescribeDomainRecords": {public, "DomainName PageNumber PageSize Direction RRKeyWord", "DomainName", false, describeDomainRecords},
		"AddDomainRecord":       {public, "DomainName RR Type Value TTL Priority Line", "DomainName RR Type Value", true, add(false)},
		"UpdateDomainRecord":    {public, "RecordId RR Type Value TTL Priority Line", "RecordId RR Type Value", true, update(false)},
		"DeleteDomainRecord":    {public, "RecordId", "RecordId", true, remove(false)},
		"DescribeZones":         {private, "PageNumber PageSize QueryVpcId QueryRegionId", "", false, describeZones},
		"DescribeZoneRecords":   {private, "ZoneId PageNumber PageSize Keyword SearchMode", "ZoneId", false, describeZoneRecords},
		"AddZoneRecord":         {private, "ZoneId Rr Type Value Ttl Priority ClientToken", "ZoneId Rr Type Value", true, add(true)},
		"UpdateZoneRecord":      {private, "RecordId Rr Type Value Ttl Priority ClientToken", "RecordId Rr Type Value", true, update(true)},
		"DeleteZoneRecord":      {private, "RecordId ClientToken", "RecordId", true, remove(true)},
	}
}

var authorization = regexp.MustCompile(`^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]*),Signature=[0-9a-f]{64}$`)

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := Call{Action: r.Header.Get("x-acs-action"), Query: map[string]string{}, Token: r.Header.Get("x-acs-security-token") != ""}
	for key, values := range r.URL.Query() {
		call.Query[key] = values[0]
	}
	found := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if found != nil {
		call.KeyID = found[1]
	}
	c.mu.Lock()
	c.calls = append(c.calls, call)
	fault := Fault{}
	if c.fault != nil {
		fault = c.fault(call)
	}
	c.mu.Unlock()
	if fault.Before != nil {
		fault.Before()
	}
	if fault.HTML {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>bad gateway</html>")
		return
	}
	reply, failed := c.serve(r, call, found, fault)
	if fault.Lost {
		panic(http.ErrAbortHandler) // the connection is cut
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if failed != nil {
		w.WriteHeader(failed.status)
		reply = map[string]any{"Code": failed.code, "Message": failed.message, "RequestId": "R-1", "HostId": "test"}
	}
	text, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "%s", text)
}

func (c *Cloud) serve(r *http.Request, call Call, signed []string, fault Fault) (any, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed := c.authentic(r, signed); failed != nil {
		return nil, failed
	}
	a, ok := actions()[call.Action]
	if !ok || r.Header.Get("x-acs-version") != a.version {
		return nil, refuse("InvalidAction.NotFound", "Specified api is not found, please check your url and method.")
	}
	for key := range call.Query {
		if !slices.Contains(strings.Fields(a.takes), key) {
			return nil, refuse("InvalidParameter", "%s takes no %s", call.Action, key)
		}
	}
	for _, key := range strings.Fields(a.needs) {
		if call.Query[key] == "" {
			return nil, refuse("Missing"+key, "%s is mandatory for this action.", key)
		}
	}
	if fault.Code != "" {
		status := fault.Status
		if status == 0 {
			status = http.StatusBadRequest
		}
		return nil, &failure{status, fault.Code, "it was told to fail"}
	}
	return a.carriesOut(c, call.Query, fault)
}

// authentic looks at what comes with a signature.
func (c *Cloud) authentic(r *http.Request, signed []string) *failure {
	nonce := r.Header.Get("x-acs-signature-nonce")
	switch {
	case r.Method != http.MethodPost:
		return refuse("UnsupportedHTTPMethod", "This http method is not supported.")
	case signed == nil:
		return refuse("IncompleteSignature", "The request signature does not conform to Aliyun standards.")
	case r.Header.Get("x-acs-date") == "" || r.Header.Get("x-acs-content-sha256") == "":
		return refuse("MissingDate", "the date or the hash of the body is missing")
	case nonce == "" || c.nonces[nonce]:
		return refuse("SignatureNonceUsed", "Specified signature nonce was used already.")
	case !strings.Contains(signed[2], "x-acs-action"):
		return refuse("SignatureDoesNotMatch", "the action isn't signed")
	case strings.HasPrefix(signed[1], "bad"):
		return refuse("InvalidAccessKeyId.NotFound", "Specified access key is not found.")
	}
	c.nonces[nonce] = true
	return nil
}
