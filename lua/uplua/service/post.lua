-- HTTP requests by libcurl, which is looked for when something is to be sent, in the loop of the run: nothing waits for
-- the other side. libcurl's manual: https://curl.se/libcurl/c/
local ffi     = require "ffi"
local library = require "uplua.base.library"
local loop    = require "uplua.base.loop"

local post = {}

local PATIENCE = 10   -- seconds that a request may take
local TURN     = 0.02 -- seconds between two looks at one that is under way
local MOST     = 4096 -- bytes of an answer that are read

ffi.cdef [[
struct curl_slist;
struct uplua_curl_message { int kind; void *handle; union { void *data; int result; } of; };
int curl_global_init(long flags);
void *curl_easy_init(void);
int curl_easy_setopt(void *handle, int option, ...);
int curl_easy_getinfo(void *handle, int info, ...);
void curl_easy_cleanup(void *handle);
int curl_easy_perform(void *handle);
const char *curl_easy_strerror(int code);
struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text);
void curl_slist_free_all(struct curl_slist *list);
void *curl_multi_init(void);
int curl_multi_add_handle(void *multi, void *handle);
int curl_multi_remove_handle(void *multi, void *handle);
int curl_multi_perform(void *multi, int *running);
struct uplua_curl_message *curl_multi_info_read(void *multi, int *left);
int curl_multi_cleanup(void *multi);
]]

-- Of curl.h.
local EVERYTHING = 3
local POST, NOSIGNAL, TIMEOUT_MS, CONNECT_TIMEOUT_MS, SIZE = 47, 99, 155, 156, 60
local WRITE_TO, URL, FIELDS, AGENT, HEADERS = 10001, 10002, 10015, 10018, 10023
local STATUS, RETRY_AFTER, DONE, OK = 0x200002, 0x600000 + 57, 1, 0

local function long(number) return ffi.cast("long", number) end

-- load_library() → libcurl. Raises that it is not there, and how it is had.
function post.load_library()
  return library.first { "libcurl.so.4", "libcurl-gnutls.so.4" } or
    error("--otlp needs libcurl: apt-get install libcurl4", 0)
end

local Client = {}
Client.__index = Client

-- new(url, headers) → what sends there, with HEADERS, a list of texts.
function post.new(url, headers)
  local curl = post.load_library()
  curl.curl_global_init(EVERYTHING)
  local list
  for _, header in ipairs(headers) do list = curl.curl_slist_append(list, header) end
  return setmetatable({
    curl = curl, url = url, headers = list, multi = curl.curl_multi_init(), running = ffi.new "int[1]",
    handle = nil,  -- of the request that is under way
  }, Client)
end

-- A request with BODY, and the file that the answer goes to.
local function request(self, body)
  local curl, handle = self.curl, self.curl.curl_easy_init()
  local answer = io.tmpfile() or io.open("/dev/null", "w")
  curl.curl_easy_setopt(handle, URL, self.url)
  curl.curl_easy_setopt(handle, POST, long(1))
  curl.curl_easy_setopt(handle, FIELDS, body) -- kept by the caller until it is over
  curl.curl_easy_setopt(handle, SIZE, long(#body))
  curl.curl_easy_setopt(handle, HEADERS, self.headers)
  curl.curl_easy_setopt(handle, AGENT, "uplua")
  curl.curl_easy_setopt(handle, NOSIGNAL, long(1))
  curl.curl_easy_setopt(handle, TIMEOUT_MS, long(PATIENCE * 1000))
  curl.curl_easy_setopt(handle, CONNECT_TIMEOUT_MS, long(PATIENCE * 500))
  curl.curl_easy_setopt(handle, WRITE_TO, ffi.cast("void *", answer))
  return handle, answer
end

-- What has become of HANDLE, which has ended with CODE: the status, nil and the reason where there was no answer; the
-- answer's text; and after how many seconds the other side wants to be asked again, or nil.
local function outcome(self, handle, answer, code)
  local curl = self.curl
  if code ~= OK then return nil, ffi.string(curl.curl_easy_strerror(code)) end
  local status, seconds = ffi.new "long[1]", ffi.new "int64_t[1]"
  curl.curl_easy_getinfo(handle, STATUS, status)
  curl.curl_easy_getinfo(handle, RETRY_AFTER, seconds)
  answer:seek "set"
  return tonumber(status[0]), answer:read(MOST) or "", seconds[0] > 0 and tonumber(seconds[0]) or nil
end

local function close(self, handle, answer)
  self.curl.curl_easy_cleanup(handle)
  answer:close()
end

-- client:send(body, done): sends BODY; done(status, text, seconds) is called once that is over: the answer's status,
-- its text, and after how many seconds it is to be tried again, where the other side says so; or nil and why there was
-- no answer. One at a time.
function Client:send(body, done)
  local curl = self.curl
  local handle, answer = request(self, body)
  self.handle, self.body = handle, body
  curl.curl_multi_add_handle(self.multi, handle)
  local left = ffi.new "int[1]"
  local function turn()
    if self.handle ~= handle then return end
    curl.curl_multi_perform(self.multi, self.running)
    local message = curl.curl_multi_info_read(self.multi, left)
    if message == nil or message.kind ~= DONE then
      self.timer = loop.at(loop.now() + TURN, turn)
      return
    end
    local code = message.of.result
    curl.curl_multi_remove_handle(self.multi, handle)
    self.handle, self.body = nil, nil
    local status, text, seconds = outcome(self, handle, answer, code)
    close(self, handle, answer)
    done(status, text, seconds)
  end
  turn()
  self.give_up = function()
    curl.curl_multi_remove_handle(self.multi, handle)
    close(self, handle, answer)
  end
end

-- client:send_now(body) → the same, at once: waits for it, for at most SECONDS.
function Client:send_now(body, seconds)
  local handle, answer = request(self, body)
  self.curl.curl_easy_setopt(handle, TIMEOUT_MS, long(seconds * 1000))
  local code = self.curl.curl_easy_perform(handle)
  local status, text = outcome(self, handle, answer, code)
  close(self, handle, answer)
  return status, text
end

-- client:close(): ends it; what is under way is given up.
function Client:close()
  if self.handle then
    self.handle = nil
    self.give_up()
  end
  if self.headers ~= nil then self.curl.curl_slist_free_all(self.headers) end
  self.curl.curl_multi_cleanup(self.multi)
end

return post
